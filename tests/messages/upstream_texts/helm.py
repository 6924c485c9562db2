"""Texts of Helm."""

from __future__ import annotations

from tests.messages.upstream_texts.group import REPO_SERVER, Group
from whysync.messages.pasted import Origin

HELM_TEMPLATE = REPO_SERVER + (
    "`helm template . --name-template web --namespace web --kube-version 1.31 --values "
    "<path to cached source>/app/values-prod.yaml <api versions removed> "
    "--include-crds` failed exit status 1: Error: "
)
HELM_DEPENDENCIES = REPO_SERVER + (
    "error building helm chart dependencies: `helm dependency build` failed exit status 1: Error: "
)
HELM_PULL = REPO_SERVER + (
    "error fetching chart: failed to fetch chart: `helm pull --destination /tmp/8d1f "
    "--version 4.2.0 --repo https://charts.example.com web` failed exit status 1: "
    "Error: "
)
HELM_PULL_OCI = REPO_SERVER + (
    "error pulling OCI chart: failed to pull OCI chart: `helm pull "
    "oci://registry.example.com/charts/web --version 4.2.0 --destination /tmp/8d1f` "
    "failed exit status 1: Error: "
)

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.CONDITION,
        "ComparisonError",
        HELM_TEMPLATE,
        (
            (
                "helm-render",
                "template: web/templates/deploy.yaml:12:22: executing "
                '"web/templates/deploy.yaml" at <.Values.image.tag>: nil pointer '
                "evaluating interface {}.tag",
            ),
            ("helm-render", "execution error at (web/templates/deploy.yaml:3:4): a password is required"),
            ("helm-render", "parse error at (web/templates/deploy.yaml:7): unclosed action"),
            ("helm-render", "open <path to cached source>/app/values-prod.yaml: no such file or directory"),
            (
                "helm-render",
                "failed to parse <path to cached source>/app/values-prod.yaml: error "
                "converting YAML to JSON: yaml: line 5: did not find expected key",
            ),
            (
                "helm-render",
                "values don't meet the specifications of the schema(s) in the following "
                "chart(s):\nweb:\n- at '/replicas': got string, want integer",
            ),
            (
                "helm-render",
                "chart requires kubeVersion: >=1.32.0 which is incompatible with Kubernetes v1.31.0",
            ),
            (
                "helm-render",
                "YAML parse error on web/templates/svc.yaml: error converting YAML to "
                "JSON: yaml: line 9: mapping values are not allowed in this context",
            ),
            (
                "helm-render",
                'template: web/templates/x.yaml:1:3: executing "web/templates/x.yaml" at '
                '<lookup "v1" "Secret" "web" "db">: error calling lookup: Unauthorized',
            ),
            (
                "helm-render",
                'template: web/templates/x.yaml:1:3: executing "web/templates/x.yaml" at '
                '<include "web.name" .>: error calling include: template: no template '
                '"web.name" associated with template "gotpl"',
            ),
            (
                "helm-render",
                "execution error at (web/templates/x.yaml:2:4): the registry credentials "
                "were not found: authentication required",
            ),
            (
                "helm-render",
                "execution error at (web/templates/check.yaml:2:4): permission denied: "
                "applications, sync, default/web is required",
            ),
            (
                "helm-render",
                "execution error at (web/templates/check.yaml:2:4): connection refused by "
                "policy, please set .Values.db.host",
            ),
            ("helm-render", "Chart.yaml file is missing"),
            ("helm-render", 'validation: chart.metadata.version "1.x" is invalid'),
            (
                "helm-render helm-dependency",
                "An error occurred while checking for chart dependencies. You may need to "
                "run `helm dependency build` to fetch missing dependencies: found in "
                "Chart.yaml, but missing in charts/ directory: redis",
            ),
            ("helm-render", 'failed parsing --set data: key map "a" has no value'),
            ("helm-render", "unknown flag: --api-version"),
            (
                "helm-render",
                'failed to load plugin secrets: exec: "sops": executable file not found in $PATH',
            ),
            (
                "helm-render plugin",
                'plugin "secrets" exited with error: sops: failed to decrypt: 403 Forbidden',
            ),
            (
                "helm-render",
                "unable to build kubernetes objects from release manifest: resource "
                'mapping not found for name: "web" namespace: "" from "": no matches for '
                'kind "Foo" in version "example.com/v1"',
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        HELM_DEPENDENCIES,
        (
            (
                "helm-dependency",
                "no repository definition for https://charts.example.com. Please add the "
                "missing repos via 'helm repo add'",
            ),
            (
                "helm-dependency",
                'can\'t get a valid version for 1 subchart(s): "redis" (repository '
                '"https://charts.example.com", version "99.x"). Make sure a matching chart '
                "version exists in the repo, or change the version constraint in Chart.yaml",
            ),
            (
                "helm-dependency",
                "could not download https://charts.example.com/redis-17.3.2.tgz: failed to "
                "fetch https://charts.example.com/redis-17.3.2.tgz : 404 Not Found",
            ),
            (
                "helm-dependency repo-auth",
                "could not download oci://registry.example.com/charts/redis: failed to "
                'perform "FetchReference" on source: GET '
                '"https://registry.example.com/v2/charts/redis/manifests/17": response '
                "status code 401: unauthorized",
            ),
            (
                "helm-dependency",
                "the lock file (Chart.lock) is out of sync with the dependencies file "
                "(Chart.yaml). Please update the dependencies",
            ),
            ("helm-dependency", "directory /tmp/lib not found"),
            (
                "helm-dependency",
                'looks like "https://charts.example.com" is not a valid chart repository '
                'or cannot be reached: Get "https://charts.example.com/index.yaml": dial '
                "tcp: lookup charts.example.com: no such host",
            ),
            ("helm-dependency", "open charts/redis-17.3.2.tgz: permission denied"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        HELM_PULL,
        (
            (
                "revision-not-found",
                'chart "web" version "4.2.0" not found in https://charts.example.com repository',
            ),
            (
                "repo-unreachable",
                'looks like "https://charts.example.com" is not a valid chart repository '
                "or cannot be reached: failed to fetch "
                "https://charts.example.com/index.yaml : 404 Not Found",
            ),
            (
                "repo-auth",
                'looks like "https://charts.example.com" is not a valid chart repository '
                "or cannot be reached: failed to fetch "
                "https://charts.example.com/index.yaml : 401 Unauthorized",
            ),
            (
                "repo-unreachable",
                'Get "https://charts.example.com/web-4.2.0.tgz": dial tcp 192.0.2.7:443: i/o timeout',
            ),
            (
                "tls-trust",
                'looks like "https://charts.example.com" is not a valid chart repository '
                'or cannot be reached: Get "https://charts.example.com/index.yaml": tls: '
                "failed to verify certificate: x509: certificate is valid for "
                "other.example.com, not charts.example.com",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        HELM_PULL_OCI,
        (
            (
                "repo-auth",
                "failed to authorize: failed to fetch anonymous token: unexpected status "
                "from GET request to https://registry.example.com/token: 401 Unauthorized",
            ),
            ("revision-not-found", "registry.example.com/charts/web:4.2.0: not found"),
            (
                "repo-auth",
                "unexpected status from HEAD request to "
                "https://registry.example.com/v2/charts/web/manifests/4.2.0: 403 Forbidden",
            ),
            (
                "repo-unreachable",
                "failed to do request: Head "
                '"https://registry.example.com/v2/charts/web/manifests/4.2.0": dial tcp: '
                "lookup registry.example.com: no such host",
            ),
            (
                "revision-not-found repo-unreachable",
                "manifest does not contain minimum number of descriptors (2), descriptors found: 1",
            ),
        ),
    ),
)
