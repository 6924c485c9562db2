"""Texts of Kustomize."""

from __future__ import annotations

from tests.messages.upstream_texts.group import REPO_SERVER, Group
from whysync.messages.pasted import Origin

KUSTOMIZE = REPO_SERVER + (
    "`kustomize build <path to cached source>/overlays/prod` failed exit status 1: Error: "
)

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.CONDITION,
        "ComparisonError",
        KUSTOMIZE,
        (
            (
                "kustomize-build",
                "accumulating resources: accumulation err='accumulating resources from "
                "'../../base': evalsymlink failure on '/tmp/x/base' : lstat /tmp/x/base: "
                "no such file or directory'",
            ),
            (
                "kustomize-build",
                "no matches for Id Deployment.v1.apps/web.[noNs]; failed to find unique "
                "target for patch Deployment.v1.apps/web.[noNs]",
            ),
            (
                "kustomize-build",
                "accumulating resources: accumulation err='accumulating resources from "
                "'https://git.example.com/team/base?ref=v1': URL is a git repository': "
                "failed to run '/usr/bin/git fetch --depth=1 "
                "https://git.example.com/team/base v1': fatal: could not read Username for "
                "'https://git.example.com': terminal prompts disabled",
            ),
            (
                "kustomize-build",
                "unable to find one of 'kustomization.yaml', 'kustomization.yml' or "
                "'Kustomization' in directory '/tmp/x'",
            ),
            ("kustomize-build", 'invalid Kustomization: json: unknown field "resource"'),
            (
                "kustomize-build",
                "unable to find plugin root - tried: ('<no value>'; homed in $KUSTOMIZE_PLUGIN_HOME)",
            ),
            (
                "kustomize-build plugin",
                "couldn't execute function: fork/exec /plugins/ksops: permission denied",
            ),
            (
                "kustomize-build plugin",
                "failure in plugin configured via /tmp/kust-plugin-config-1; exit status "
                "1: trouble decrypting file: Error getting data key: 0 successful groups "
                "required, got 0",
            ),
            (
                "kustomize-build",
                "trouble configuring builtin HelmChartInflationGenerator with config: "
                "`name: web`: must specify --enable-helm",
            ),
            (
                "kustomize-build",
                'map[string]interface {}{"a":1}: fork/exec /usr/local/bin/helm: permission denied',
            ),
            ("kustomize-build", "security; file '/tmp/x/base.yaml' is not in or below '/tmp/x/overlays'"),
            (
                "kustomize-build",
                "json: cannot unmarshal string into Go struct field Kustomization.replicas of type int64",
            ),
            (
                "kustomize-build",
                'add operation does not apply: doc is missing path: "/spec/x": missing value',
            ),
            ("kustomize-build", "replacements must specify a source and at least one target"),
        ),
    ),
)
