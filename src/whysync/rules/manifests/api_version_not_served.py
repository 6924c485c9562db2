"""An apiVersion or kind that this Kubernetes release does not serve.

## Why
No such resource is served: the sync fails with `no matches for kind`, or the app cannot be compared at all.
`--kubernetes-version` says which Kubernetes the cluster runs.

## Bad
```yaml
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
```

## Good
```yaml
apiVersion: policy/v1
kind: PodDisruptionBudget
```
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.schema.releases import BASE, span_of_kind, versions_in
from whysync.manifests.configuration import Configuration, version_pair
from whysync.manifests.files import finding
from whysync.manifests.schemas.built_in import is_built_in, is_served, kinds_of
from whysync.manifests.tree import Tree
from whysync.queries.removed_apis import removal_of


@rule(layer=Layer.SCHEMA, severity=Severity.CRITICAL, cause="deprecated-api", since="0.2")
def api_version_not_served(tree: Tree) -> Iterator[Finding]:
    release = tree.configuration.release
    for item in tree.items:
        ref = item.ref
        if release == BASE and is_served(ref.api_version, ref.kind):
            continue
        if is_built_in(ref.api_version, ref.kind) or removal_of(ref.api_version, ref.kind):
            if said := _not_in(ref, tree.configuration):
                hint = _instead(ref, release) or tree.configuration.release_hint
                yield finding(item, said, field="/apiVersion", hint=hint)
        elif ref.name and (known := kinds_of(ref.api_version)):
            near = get_close_matches(ref.kind, known, 1, 0.8)
            hint = f"did you mean {near[0]}?" if near else ""
            yield finding(item, f"{ref.api_version} has no kind {ref.kind}", field="/kind", hint=hint)
        elif (versions := tree.definitions.knows(ref.group, ref.kind)) and ref.version not in versions:
            said = f"the CRD of {ref.kind} does not serve {ref.version}: it has {', '.join(versions)}"
            yield finding(item, said, field="/apiVersion")


def _not_in(ref: Ref, configuration: Configuration) -> str:
    """Why that Kubernetes does not have it; empty where it has."""
    removed = removal_of(ref.api_version, ref.kind)
    if removed is not None:
        target = configuration.kubernetes
        if not target or version_pair(target) >= version_pair(removed):
            return f"Kubernetes {removed} removed {ref.kind} of {ref.api_version}"
    span, release = span_of_kind(ref.api_version, ref.kind), configuration.release
    if span is not None and release < span.first:
        return f"{ref.kind} of {ref.api_version} exists since Kubernetes 1.{span.first}; this is 1.{release}"
    if span is not None and release > span.last and removed is None:
        return f"Kubernetes 1.{span.last + 1} has no {ref.kind} of {ref.api_version} any more"
    return ""


def _instead(ref: Ref, release: int) -> str:
    """The most settled version that this release has."""
    known = [version for version in versions_in(ref.group, ref.kind, release) if version != ref.api_version]
    if not known and ref.group == "extensions":  # its kinds moved on
        known = [
            version for to in ("apps", "networking.k8s.io") for version in versions_in(to, ref.kind, release)
        ]
    return f"use {max(known, key=_settled)}" if known else ""


def _settled(api_version: str) -> tuple[bool, bool, str]:
    return "alpha" not in api_version, "beta" not in api_version, api_version
