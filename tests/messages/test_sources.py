"""Repositories, charts, kustomizations: what `repo-server` could not do."""

from __future__ import annotations

import pytest

from tests.messages.says import Row, says
from whysync.messages.failure import Failure, Lookup, Network, Peer, Unknown
from whysync.messages.network import Distrust
from whysync.messages.parse import understand
from whysync.messages.patterns.argocd import (
    ArgocdCacheDown,
    ArgocdDiskFull,
    RepoServerDown,
    SettingsMalformed,
)
from whysync.messages.patterns.cluster import ConnectionFailed, RegistrationFailed
from whysync.messages.patterns.git import (
    AuthMethod,
    PathNotFound,
    RepoAuthFailed,
    RepoCopyBroken,
    RepoUnreachable,
    RevisionNotFound,
    SourceIntegrity,
    TlsUntrusted,
)
from whysync.messages.patterns.helm import HelmDependency, HelmRender
from whysync.messages.patterns.logins import LoginFailed, LoginProblem
from whysync.messages.patterns.manifests import (
    GenerationTimeout,
    HydratorFailed,
    InvalidYaml,
    JsonnetFailed,
    KustomizeBuild,
    PluginFailed,
    SourceSpecInvalid,
)
from whysync.messages.patterns.pods import DependencyMissing, FailedMount, ImagePull

TARGET = "Failed to load target state: failed to generate manifest for source 1 of 1: "
UNKNOWN = TARGET + "rpc error: code = Unknown desc = "
FETCH = TARGET + (
    "rpc error: code = Unknown desc = failed to initialize repository resources: "
    "rpc error: code = Internal desc = Failed to fetch default: "
)
GIT = "`git fetch origin --tags --force --prune` failed exit status 128: "
HELM = (
    UNKNOWN + "Manifest generation error (cached): failed to execute helm template command: failed to get "
    "command args "
    "to log: `helm template . --name-template shop --namespace shop --values /tmp/a1 <api versions removed> "
    "--include-crds` failed exit status 1: "
)
DEPENDENCIES = (
    UNKNOWN
    + "error building helm chart dependencies: failed to build helm dependencies: failed to get command "
    "args to log: `helm dependency build` failed exit status 1: "
)
KUSTOMIZE = UNKNOWN + "`kustomize build <path to cached source>/overlays/prod` failed exit status 1: "

CREDENTIALS: list[Row] = [
    (
        UNKNOWN + "failed to list refs: authentication required: Repository not found.",
        RepoAuthFailed,
        {"detail": "authentication required: Repository not found."},
    ),
    (
        'Failed to load target state: failed to get repo "https://git.example.com/shop.git": rpc error: '
        "code = Unknown desc = authorization failed",
        RepoAuthFailed,
        {"url": "https://git.example.com/shop.git", "method": AuthMethod.HTTPS},
    ),
    (
        UNKNOWN + "ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], "
        "no supported methods remain",
        RepoAuthFailed,
        {"method": AuthMethod.SSH},
    ),
    (
        FETCH + GIT + "git@github.com: Permission denied (publickey). fatal: Could not read from remote "
        "repository. Please make sure you have the correct access rights and the repository exists.",
        RepoAuthFailed,
        {"method": AuthMethod.SSH, "user": "git"},
    ),
    (
        FETCH + GIT + "remote: Invalid username or password. fatal: Authentication failed for "
        "'https://github.com/acme/shop.git/'",
        RepoAuthFailed,
        {"method": AuthMethod.HTTPS, "url": "https://github.com/acme/shop.git/"},
    ),
    (
        FETCH + GIT + "fatal: could not read Username for 'https://gitlab.com': terminal prompts disabled",
        RepoAuthFailed,
        {"method": AuthMethod.HTTPS, "url": "https://gitlab.com"},
    ),
    (
        FETCH + GIT + "remote: HTTP Basic: Access denied. The provided password or token is incorrect",
        RepoAuthFailed,
        {"method": AuthMethod.HTTPS},
    ),
    (
        FETCH + "`git fetch origin --tags --force --prune` failed exit status 128: fatal: unable to access "
        "'https://git.example.com/shop.git/': The requested URL returned error: 403",
        RepoAuthFailed,
        {"url": "https://git.example.com/shop.git/", "method": AuthMethod.HTTPS},
    ),
    (
        UNKNOWN
        + "error fetching chart: failed to fetch chart: failed to get command args to log: `helm pull "
        "--destination /tmp/x --version 1.2.3 --repo https://charts.example.com shop` failed exit status 1: "
        'Error: looks like "https://charts.example.com" is not a valid chart repository or cannot be '
        "reached: "
        "failed to fetch https://charts.example.com/index.yaml : 401 Unauthorized",
        RepoAuthFailed,
        {"method": AuthMethod.HTTPS},
    ),
    (
        UNKNOWN
        + "failed to get git client for repo https://github.com/acme/shop: could not refresh installation "
        'id 123\'s token: received non 2xx response status "401 Unauthorized" when fetching '
        "https://api.github.com/app/installations/123/access_tokens",
        RepoAuthFailed,
        {"method": AuthMethod.APP},
    ),
    (
        UNKNOWN
        + 'unable to get tags: failed to get tags: GET "https://ghcr.io/v2/acme/shop/tags/list": response '
        "status code 401: unauthorized: authentication required",
        RepoAuthFailed,
        {"url": "ghcr.io/acme/shop"},
    ),
    (
        UNKNOWN
        + "failed to get password for helm registry: registry 'shop.azurecr.io' did not issue a challenge",
        RepoAuthFailed,
        {"method": AuthMethod.APP},
    ),
    (
        'Failed to load target state: failed to get repo "https://git.example.org/shop": unable to enrich '
        'repository "https://git.example.org/shop" info with credentials: secret "repo-1" doesn\'t have the '
        'proper "argocd.argoproj.io/secret-type" label: please fix the secret or delete it',
        RepoAuthFailed,
        {"url": "https://git.example.org/shop"},
    ),
]

TRUST: list[Row] = [
    (
        UNKNOWN + 'failed to list refs: Get "https://git.corp/shop.git/info/refs?service=git-upload-pack": '
        "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        TlsUntrusted,
        {"host": "git.corp", "reason": Distrust.UNKNOWN_AUTHORITY, "peer": Peer.REPOSITORY},
    ),
    (
        UNKNOWN + 'Get "https://charts.corp/index.yaml": x509: certificate has expired or is not yet valid: '
        "current time 2024-05-01T00:00:00Z is after 2024-04-30T00:00:00Z",
        TlsUntrusted,
        {"host": "charts.corp", "peer": Peer.REPOSITORY, "reason": Distrust.EXPIRED},
    ),
    (
        FETCH
        + GIT
        + "fatal: unable to access 'https://git.corp/shop.git/': SSL certificate problem: unable to "
        "get local issuer certificate",
        TlsUntrusted,
        {"host": "git.corp", "reason": Distrust.UNKNOWN_AUTHORITY},
    ),
    (
        UNKNOWN + "ssh: handshake failed: EOF",
        RepoUnreachable,
        {"reason": Network.CLOSED},
    ),
    (
        UNKNOWN
        + "ssh: handshake failed: read tcp 10.0.0.1:41902->10.0.0.2:22: read: connection reset by peer",
        RepoUnreachable,
        {"reason": Network.RESET},
    ),
    (
        UNKNOWN + "Manifest generation error (cached): fork/exec /opt/render.sh: permission denied",
        PluginFailed,
        {"detail": "fork/exec /opt/render.sh: permission denied"},
    ),
    (
        UNKNOWN + "failed to list refs: ssh: handshake failed: knownhosts: key is unknown",
        TlsUntrusted,
        {"reason": Distrust.HOST_KEY_UNKNOWN, "peer": Peer.REPOSITORY},
    ),
    (
        UNKNOWN + "ssh: handshake failed: knownhosts: key mismatch",
        TlsUntrusted,
        {"reason": Distrust.HOST_KEY_CHANGED},
    ),
    (
        FETCH + GIT + "No ED25519 host key is known for git.corp and you have requested strict checking. "
        "Host key verification failed. fatal: Could not read from remote repository.",
        TlsUntrusted,
        {"host": "git.corp", "reason": Distrust.HOST_KEY_UNKNOWN},
    ),
    (
        'Get "https://10.0.0.1:6443/version?timeout=32s": x509: certificate is valid for 10.96.0.1, '
        "not 10.0.0.1",
        TlsUntrusted,
        {"host": "10.0.0.1", "reason": Distrust.WRONG_HOST, "peer": Peer.CLUSTER},
    ),
    (
        UNKNOWN + "ssh: handshake failed: ssh: no authorities for hostname: git.example.org:22",
        TlsUntrusted,
        {"host": "git.example.org", "reason": Distrust.HOST_KEY_UNKNOWN, "peer": Peer.REPOSITORY},
    ),
]

REACH: list[Row] = [
    (
        UNKNOWN + "failed to list refs: dial tcp: lookup git.corp on 10.96.0.10:53: no such host",
        RepoUnreachable,
        {"host": "git.corp", "reason": Network.DNS},
    ),
    (
        UNKNOWN + 'failed to list refs: Get "https://git.corp/shop.git/info/refs?service=git-upload-pack": '
        "dial tcp 10.1.2.3:443: connect: connection refused",
        RepoUnreachable,
        {"host": "10.1.2.3", "reason": Network.REFUSED},
    ),
    (
        FETCH + GIT + "fatal: unable to access 'https://github.com/acme/shop.git/': Failed to connect to "
        "github.com port 443 after 130 ms: Connection timed out",
        RepoUnreachable,
        {"host": "github.com", "url": "https://github.com/acme/shop.git/", "reason": Network.TIMEOUT},
    ),
    (
        FETCH + GIT + "ssh: connect to host git.corp port 22: Connection refused fatal: Could not read from "
        "remote repository.",
        RepoUnreachable,
        {"host": "git.corp", "reason": Network.REFUSED},
    ),
    (
        UNKNOWN + "failed to list refs: repository not found",
        RepoUnreachable,
        {"reason": Network.NOT_FOUND},
    ),
    (
        FETCH
        + GIT
        + "remote: Repository not found. fatal: repository 'https://github.com/acme/gone.git/' not found",
        RepoUnreachable,
        {"reason": Network.NOT_FOUND, "url": "https://github.com/acme/gone.git/", "host": "github.com"},
    ),
    (
        FETCH
        + GIT
        + "fatal: unable to access 'https://git.corp/shop.git/': The requested URL returned error: 503",
        RepoUnreachable,
        {"reason": Network.UNAVAILABLE, "host": "git.corp"},
    ),
    (
        UNKNOWN
        + "repo client error while testing repository: rpc error: code = Unknown desc = error testing "
        "repository connectivity: unable to ls-remote HEAD on repository: failed to list refs: dial tcp: "
        "lookup git.example.org on 10.0.0.10:53: no such host",
        RepoUnreachable,
        {"host": "git.example.org", "reason": Network.DNS},
    ),
]

REVISIONS: list[Row] = [
    (
        UNKNOWN
        + "failed to initialize repository resources: rpc error: code = Unknown desc = unable to resolve "
        "'release-9' to a commit SHA: revision not found",
        RevisionNotFound,
        {"revision": "release-9"},
    ),
    (
        FETCH + "`git fetch origin nope --force --prune` failed exit status 128: fatal: couldn't find "
        "remote ref nope",
        RevisionNotFound,
        {"revision": "nope"},
    ),
    (
        TARGET + "rpc error: code = Internal desc = Failed to checkout revision abc123: `git checkout "
        "--force abc123` "
        "failed exit status 1: error: pathspec 'abc123' did not match any file(s) known to git",
        RevisionNotFound,
        {"revision": "abc123"},
    ),
    (
        UNKNOWN + "error fetching chart: failed to fetch chart: `helm pull --version 99.0.0 --repo "
        'https://charts.example.com shop` failed exit status 1: Error: chart "shop" version "99.0.0" '
        "not found "
        "in https://charts.example.com repository",
        RevisionNotFound,
        {"chart": "shop", "revision": "99.0.0", "repo": "https://charts.example.com"},
    ),
    (
        UNKNOWN + "invalid revision: failed to determine semver constraint: improper constraint: 1.x.y-z!",
        RevisionNotFound,
        {},
    ),
    (UNKNOWN + "version matching constraint not found in 14 tags", RevisionNotFound, {}),
    (
        UNKNOWN + "Manifest generation error (cached): apps/shop: app path does not exist",
        PathNotFound,
        {"path": "apps/shop"},
    ),
    (UNKNOWN + "/: app path is absolute", PathNotFound, {"path": "/"}),
    (
        UNKNOWN
        + "failed to get index: failed to fetch https://charts.example.com/a/index.yaml : 404 Not Found",
        RepoUnreachable,
        {"url": "https://charts.example.com/a"},
    ),
    (
        UNKNOWN + "GIT/GPG: Failed verifying revision 4b825dc by policy: unsigned (key_id=)",
        SourceIntegrity,
        {"revision": "4b825dc"},
    ),
    (
        "Target revision 4b825dc642cb6eb9a060e54bf8d69288fbee4904 in Git is not signed, but a "
        "signature is required",
        SourceIntegrity,
        {"revision": "4b825dc642cb6eb9a060e54bf8d69288fbee4904"},
    ),
    (UNKNOWN + "constraint not found in index", RevisionNotFound, {}),
]

HELM_TEXTS: list[Row] = [
    (
        HELM
        + 'Error: template: shop/templates/deployment.yaml:24:28: executing "shop/templates/deployment.yaml" '
        "at <.Values.image.tag>: nil pointer evaluating interface {}.tag\n\nUse --debug flag to "
        "render out invalid YAML",
        HelmRender,
        {
            "template": "shop/templates/deployment.yaml",
            "line": 24,
            "column": 28,
            "value_path": ".Values.image.tag",
            "detail": "nil pointer evaluating interface {}.tag",
        },
    ),
    (
        HELM + "Error: execution error at (shop/templates/secret.yaml:7:15): A value for "
        ".Values.db.password is required",
        HelmRender,
        {
            "template": "shop/templates/secret.yaml",
            "line": 7,
            "column": 15,
            "value_path": ".Values.db.password",
            "detail": "A value for .Values.db.password is required",
        },
    ),
    (
        HELM + 'Error: template: shop/templates/ingress.yaml:3:4: executing "shop/templates/ingress.yaml" at '
        '<include "shop.host" .>: error calling include: template: shop/templates/_helpers.tpl:9:12: '
        "executing "
        '"shop.host" at <required "host needed" .Values.host>: error calling required: host needed',
        HelmRender,
        {
            "template": "shop/templates/_helpers.tpl",
            "line": 9,
            "column": 12,
            "value_path": ".Values.host",
            "function": "required",
        },
    ),
    (
        HELM + 'Error: parse error at (shop/templates/cm.yaml:12): function "toYam" not defined',
        HelmRender,
        {"template": "shop/templates/cm.yaml", "line": 12, "detail": 'function "toYam" not defined'},
    ),
    (
        HELM
        + "Error: YAML parse error on shop/templates/svc.yaml: error converting YAML to JSON: yaml: line 9: "
        "mapping values are not allowed in this context",
        HelmRender,
        {"template": "shop/templates/svc.yaml", "line": None},
    ),
    (
        HELM
        + "Error: values don't meet the specifications of the schema(s) in the following chart(s):\nshop:\n"
        "- at '/replicas': got string, want integer\n",
        HelmRender,
        {"chart": "shop", "value_path": ".Values.replicas", "detail": "got string, want integer"},
    ),
    (
        HELM + "Error: open <path to cached source>/charts/shop/values-prod.yaml: no such file or directory",
        HelmRender,
        {"values_file": "<path to cached source>/charts/shop/values-prod.yaml"},
    ),
    (
        HELM + "Error: chart requires kubeVersion: >=1.30.0-0 which is incompatible with Kubernetes v1.28.0",
        HelmRender,
        {},
    ),
    (
        UNKNOWN + 'error resolving helm value files: values file glob "env/*.yaml" matched no files',
        HelmRender,
        {"values_file": "env/*.yaml"},
    ),
    (
        DEPENDENCIES
        + "Error: no repository definition for https://charts.bitnami.com/bitnami. Please add the "
        "missing repos via 'helm repo add'",
        HelmDependency,
        {"repo": "https://charts.bitnami.com/bitnami"},
    ),
    (
        HELM + "Error: An error occurred while checking for chart dependencies. You may need to run `helm "
        "dependency "
        "build` to fetch missing dependencies: found in Chart.yaml, but missing in charts/ "
        "directory: redis, postgresql",
        HelmDependency,
        {"chart": "redis, postgresql"},
    ),
    (
        DEPENDENCIES
        + 'Error: chart "redis" version "99.1.0" not found in https://charts.bitnami.com/bitnami repository',
        HelmDependency,
        {"chart": "redis", "version": "99.1.0", "repo": "https://charts.bitnami.com/bitnami"},
    ),
    (
        DEPENDENCIES
        + "Error: the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). "
        "Please update the dependencies",
        HelmDependency,
        {},
    ),
    (
        DEPENDENCIES
        + "Error: can't get a valid version for repositories redis. Try changing the version constraint "
        "in Chart.yaml",
        HelmDependency,
        {},
    ),
    (
        HELM + "Error: shop/templates/web.yaml:7:21\n"
        '  executing "shop/templates/web.yaml" at <.Values.web.image.tag>:\n'
        "    nil pointer evaluating interface {}.tag\n\nUse --debug flag to render out invalid YAML",
        HelmRender,
        {
            "template": "shop/templates/web.yaml",
            "line": 7,
            "column": 21,
            "value_path": ".Values.web.image.tag",
            "detail": "nil pointer evaluating interface {}.tag",
        },
    ),
    (
        HELM + "Error: shop/templates/web.yaml:1:9\n"
        '  executing "shop/templates/web.yaml" at <include "shop.name" .>:\n    error calling include:\n'
        "shop/charts/common/templates/_names.tpl:3:14\n"
        '  executing "shop.name" at <.Values.name.short>:\n    nil pointer evaluating interface {}.short',
        HelmRender,
        {
            "template": "shop/charts/common/templates/_names.tpl",
            "line": 3,
            "value_path": ".Values.name.short",
        },
    ),
    (
        HELM + "Error: shop/templates/web.yaml:1:9\n"
        '  executing "shop/templates/web.yaml" at <include "shop.nam" .>:\n    error calling include:\n'
        'template: no template "shop.nam" associated with template "gotpl"',
        HelmRender,
        {
            "template": "shop/templates/web.yaml",
            "detail": 'error calling include: template: no template "shop.nam" associated with template '
            '"gotpl"',
        },
    ),
    (
        UNKNOWN + "helm version 'v2' is not supported",
        HelmRender,
        {"detail": "helm version 'v2' is not supported"},
    ),
    (
        UNKNOWN
        + "`helm2 template . --name shop` failed exit status 1: Error: found in requirements.yaml, but "
        "missing in charts/ directory: stable/redis",
        HelmDependency,
        {"chart": "stable/redis"},
    ),
]

OTHER_TOOLS: list[Row] = [
    (
        KUSTOMIZE
        + "Error: accumulating resources: accumulation err='accumulating resources from '../../base': "
        "open /tmp/_argocd-repo/1/base: no such file or directory': must build at directory: not a "
        "valid directory: "
        "evalsymlink failure on '/tmp/_argocd-repo/1/base' : lstat /tmp/_argocd-repo/1/base: no such "
        "file or directory",
        KustomizeBuild,
        {"missing_file": "../../base", "path": "<path to cached source>/overlays/prod"},
    ),
    (
        KUSTOMIZE + 'Error: no resource matches strategic merge patch "Deployment.v1.apps/shop.[noNs]": '
        "no matches for Id Deployment.v1.apps/shop.[noNs]; failed to find unique target for patch",
        KustomizeBuild,
        {},
    ),
    (
        KUSTOMIZE + "Error: may not add resource with an already registered id: Service.v1.[noGrp]/shop.shop",
        KustomizeBuild,
        {"duplicate_id": "Service.v1.[noGrp]/shop.shop"},
    ),
    (
        KUSTOMIZE + 'Error: invalid Kustomization: json: unknown field "patchs"',
        KustomizeBuild,
        {"detail": 'invalid Kustomization: json: unknown field "patchs"'},
    ),
    (
        KUSTOMIZE
        + "Error: unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in "
        "directory '/tmp/x/overlays/prod'",
        KustomizeBuild,
        {},
    ),
    (
        UNKNOWN
        + 'Failed to evaluate jsonnet "main.jsonnet": RUNTIME ERROR: Field does not exist: replicas\n\t'
        "main.jsonnet:14:3-20\tobject <anonymous>",
        JsonnetFailed,
        {"file": "main.jsonnet", "line": 14},
    ),
    (
        UNKNOWN
        + "plugin sidecar failed. error generating manifests in cmp: rpc error: code = Unknown desc = error "
        "generating manifests: `sh -c argocd-vault-plugin generate ./` failed exit status 1: Error: "
        "Replace: could "
        "not replace all placeholders in Template",
        PluginFailed,
        {"detail": "Error: Replace: could not replace all placeholders in Template"},
    ),
    (
        "ComparisonError: rpc error: code = Unknown desc = could not find cmp-server plugin with "
        'name "kcl" supporting '
        "the given repository",
        PluginFailed,
        {"plugin": "kcl"},
    ),
    (
        UNKNOWN
        + "Manifest generation error (cached): config management plugin not supported. plugin name my-plugin",
        PluginFailed,
        {"plugin": "my-plugin"},
    ),
    (
        TARGET + 'rpc error: code = FailedPrecondition desc = Failed to unmarshal "deployment.yaml": failed '
        "to unmarshal "
        "manifest: error converting YAML to JSON: yaml: line 23: found character that cannot start any token",
        InvalidYaml,
        {"file": "deployment.yaml", "line": 23},
    ),
    (
        UNKNOWN + "Failed to unmarshal \"values.yaml\": Object 'Kind' is missing in '{\"a\":1}'",
        InvalidYaml,
        {"file": "values.yaml", "line": None},
    ),
    (
        UNKNOWN + "cannot hydrate because application argocd/shop has an error",
        HydratorFailed,
        {"app": "argocd/shop"},
    ),
    (
        UNKNOWN + "source referenced \"$values\", but no source has a 'ref' field defined",
        SourceSpecInvalid,
        {},
    ),
    (
        UNKNOWN
        + "failed to unmarshal kustomization.yaml: error converting YAML to JSON: yaml: line 3: mapping",
        KustomizeBuild,
        {},
    ),
    (
        UNKNOWN + "kustomize version v9.9.9 is not registered",
        KustomizeBuild,
        {"detail": "kustomize version v9.9.9 is not registered"},
    ),
    (
        KUSTOMIZE + "# Warning: 'commonLabels' is deprecated. Please use 'labels' instead.\n"
        "# Warning: 'bases' is deprecated. Please use 'resources' instead.\n"
        'Error: invalid Kustomization: json: unknown field "resource"',
        KustomizeBuild,
        {"detail": 'invalid Kustomization: json: unknown field "resource"'},
    ),
    (
        UNKNOWN + "Manifest generation error (cached): rpc error: code = FailedPrecondition desc = Failed to "
        'evaluate jsonnet "main.jsonnet": RUNTIME ERROR: Field does not exist: image\n'
        "\tmain.jsonnet:4:12-30\tobject <anonymous>\n\tDuring manifestation",
        JsonnetFailed,
        {"file": "main.jsonnet", "line": 4, "detail": "RUNTIME ERROR: Field does not exist: image"},
    ),
    (
        UNKNOWN
        + "oci layer media type application/vnd.docker.image.rootfs.diff.tar.gzip is not in the list of "
        "allowed media types",
        SourceSpecInvalid,
        {},
    ),
]

ARGOCD_PARTS: list[Row] = [
    (
        UNKNOWN + "app shop hydrator uses the same destination: repo=a, path=b",
        HydratorFailed,
        {"app": "shop"},
    ),
    (
        'source integrity verification failed for app "shop" dry revision "4b825dc": unsigned',
        SourceIntegrity,
        {"revision": "4b825dc"},
    ),
    (UNKNOWN + 'repository URL "not a url" is invalid', RepoUnreachable, {"reason": Network.NOT_FOUND}),
    (UNKNOWN + 'destination of symlink "a/b" is missing', PathNotFound, {"path": "a/b"}),
    (UNKNOWN + "error calling cmp-server checkPluginConfiguration: x", PluginFailed, {}),
    (UNKNOWN + "`helm template . --name-template x` failed signal: killed", RepoServerDown, {}),
    (UNKNOWN + "`./render.sh` failed signal: killed", PluginFailed, {"killed": "./render.sh"}),
    (UNKNOWN + "`./render.sh failed signal: killed", PluginFailed, {"killed": "./render.sh"}),
    (
        'level=fatal msg="read /home/argocd/cmp-server/config/plugin.yaml: is a directory"',
        PluginFailed,
        {},
    ),
    (
        'level=error msg="Failed to notify recipient slack:ops defined in app argocd/web: not_in_channel"',
        SettingsMalformed,
        {"recipient": "slack:ops", "detail": "not_in_channel"},
    ),
    (
        "failed to commit hydrated manifests: rpc error: code = Unavailable desc = connection error: desc = "
        '"transport: Error while dialing: dial tcp 10.0.0.9:8086: connect: connection refused"',
        HydratorFailed,
        {"unreachable": Network.REFUSED},
    ),
    (
        UNKNOWN + "`helm chart pull ghcr.io/team/web:0.1.2` failed exit status 1: Error: manifest does not "
        "contain a layer with mediatype application/tar+gzip",
        RepoUnreachable,
        {"reason": Network.NOT_A_CHART},
    ),
    (
        'FATA[0001] Secret "argocd-manager-dockercfg-z8l9j" for service account "&ServiceAccount{x}" did not '
        "have a token",
        RegistrationFailed,
        {"no_token": True},
    ),
    (
        UNKNOWN + "error pulling OCI chart: failed to pull OCI chart: `helm pull oci://ghcr.io/x/y "
        "--version 1.2.3` "
        "failed exit status 1: Error: ghcr.io/x/y:1.2.3: not found",
        RevisionNotFound,
        {"chart": "ghcr.io/x/y", "revision": "1.2.3"},
    ),
    (
        UNKNOWN + "`helm pull --repo https://charts.example.com shop` failed exit status 1: Error: "
        "looks like "
        '"https://charts.example.com" is not a valid chart repository or cannot be reached: failed to fetch '
        "https://charts.example.com/index.yaml : 404 Not Found",
        RepoUnreachable,
        {"host": "charts.example.com", "reason": Network.NOT_FOUND},
    ),
    (
        FETCH + "`git fetch origin` failed exit status 1: error: cannot lock ref "
        "'refs/remotes/origin/x': Unable to "
        "create '/tmp/x.lock': File exists.",
        RepoCopyBroken,
        {},
    ),
    (
        UNKNOWN + 'failed to list refs: Get "https://git.corp/x/info/refs": proxyconnect tcp: dial '
        "tcp 10.0.0.1:3128: "
        "connect: connection refused",
        RepoUnreachable,
        {"reason": Network.PROXY},
    ),
    (
        KUSTOMIZE + 'Error: json: unknown field "images"',
        KustomizeBuild,
        {"path": "<path to cached source>/overlays/prod"},
    ),
    (UNKNOWN + "lstat /tmp/helm8/test: no such file or directory", PathNotFound, {"path": "/tmp/helm8/test"}),
    (
        UNKNOWN + "`helm dependency build` failed timeout after 1m30s",
        GenerationTimeout,
        {"command": "helm dependency build", "after": "1m30s"},
    ),
    (
        TARGET + "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
        GenerationTimeout,
        {"command": "", "after": ""},
    ),
    (
        TARGET + 'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while '
        "dialing: dial "
        'tcp: lookup argocd-repo-server on 10.96.0.10:53: no such host"',
        RepoServerDown,
        {
            "host": "argocd-repo-server",
            "reason": Network.DNS,
            "lookup": Lookup(name="argocd-repo-server", server="10.96.0.10", error="no such host"),
        },
    ),
    (
        TARGET + "rpc error: code = Unavailable desc = dns: A record lookup error: lookup argocd-repo-server "
        "on [fd00::a]:53: server misbehaving",
        RepoServerDown,
        {
            "host": "argocd-repo-server",
            "reason": Network.DNS,
            "lookup": Lookup(name="argocd-repo-server", server="fd00::a", error="server misbehaving"),
        },
    ),
    (
        UNKNOWN + "dial tcp: lookup argocd-redis on 10.96.0.10:53: read udp 10.0.1.7:4141->10.96.0.10:53: "
        "i/o timeout",
        ArgocdCacheDown,
        {
            "reason": Network.DNS,
            "lookup": Lookup(name="argocd-redis", server="10.96.0.10", error="i/o timeout"),
        },
    ),
    (
        UNKNOWN
        + "`helm pull oci://r.example.com/a/b` failed exit status 1: Error: failed to authorize: failed "
        "to fetch anonymous token: unexpected status from GET https://r.example.com/token: 403 Forbidden",
        RepoAuthFailed,
        {"anonymous": True},
    ),
    (
        UNKNOWN
        + "`helm pull oci://r.example.com/a/b` failed exit status 1: Error: failed to authorize: failed "
        "to fetch oauth token: unexpected status from GET https://r.example.com/token: 401 Unauthorized",
        RepoAuthFailed,
        {"anonymous": False},
    ),
    (
        TARGET + "rpc error: code = Unavailable desc = error reading from server: EOF",
        RepoServerDown,
        {},
    ),
    (
        "Failed to load target state: failed to compare revisions for source 1 of 2: rpc error: code = "
        "Unimplemented desc = unknown method FindOdds for service repository.RepoServerService",
        RepoServerDown,
        {"reason": Network.OTHER_VERSION},
    ),
    (
        UNKNOWN + "dial tcp 10.96.3.4:6379: connect: connection refused",
        ArgocdCacheDown,
        {"host": "10.96.3.4", "reason": Network.REFUSED},
    ),
    (UNKNOWN + "WRONGPASS invalid username-password pair or user is disabled.", ArgocdCacheDown, {}),
    (
        UNKNOWN
        + "failed to initialize repository resources: mkdir /tmp/_argocd-repo/5: no space left on device",
        ArgocdDiskFull,
        {"path": "/tmp/_argocd-repo/5"},
    ),
    (
        'time="2026-02-03T10:00:00Z" level=error msg="Failed to set app state: NOREPLICAS Not enough good '
        'replicas to write."',
        ArgocdCacheDown,
        {},
    ),
    (
        'time="2026-02-03T10:00:00Z" level=fatal msg="error converting YAML to JSON: yaml: line 9: could not '
        "find expected ':'\"",
        SettingsMalformed,
        {"detail": "error converting YAML to JSON: yaml: line 9: could not find expected ':'"},
    ),
    (
        'time="2026-02-03T10:00:00Z" level=error msg="finished unary call" error="error converting YAML to '
        'JSON: yaml: line 9: mapping values are not allowed in this context"',
        InvalidYaml,
        {"line": 9},
    ),
    (
        "level=debug msg=\"Failed to execute condition of trigger on-deployed: trigger 'on-deployed' is not "
        'configured"',
        SettingsMalformed,
        {"key": "trigger.on-deployed", "config_map": "argocd-notifications-cm"},
    ),
    (
        "level=error msg=\"Failed to notify recipient {slack a}: template 'app-deployed' is not supported\"",
        SettingsMalformed,
        {"key": "template.app-deployed", "config_map": "argocd-notifications-cm"},
    ),
    (
        'level=error msg="failed to execute oncePer condition: cannot fetch startedAt from <nil> (1:27)"',
        SettingsMalformed,
        {"key": "", "config_map": "argocd-notifications-cm"},
    ),
    (
        'level=error msg="Failed to query provider \\"\\": Get \\"/.well-known/openid-configuration\\": '
        'unsupported protocol scheme \\"\\""',
        LoginFailed,
        {"problem": LoginProblem.ADDRESS},
    ),
    (
        'level=error msg="x" error="invalid pkt-len found" grpc.service=repository.RepoServerService',
        RepoUnreachable,
        {},
    ),
    (
        'rpc error: code = Unavailable desc = connection error: desc = "transport: authentication handshake '
        'failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"',
        TlsUntrusted,
        {"reason": Distrust.UNKNOWN_AUTHORITY},
    ),
    (
        "FATA[0226] dial tcp 10.0.0.9:7999: connect: operation timed out",
        RepoUnreachable,
        {"host": "10.0.0.9"},
    ),
    (
        TARGET + "failed to get Kustomize settings: found duplicate kustomize version: v5.4.1",
        SettingsMalformed,
        {"key": "kustomize.versions"},
    ),
    (
        "ComparisonError: error getting resource overrides: resource customization type helth not supported",
        SettingsMalformed,
        {"key": "resource.customizations.helth"},
    ),
    (
        "rpc error: code = Internal desc = Failed to fetch git repo: `git fetch origin --tags` failed "
        "timeout after 1m30s",
        GenerationTimeout,
        {"after": "1m30s"},
    ),
]


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    CREDENTIALS + TRUST + REACH + REVISIONS + HELM_TEXTS + OTHER_TOOLS + ARGOCD_PARTS,
)
def test_source_failures(text: str, kind: type, parts: dict[str, object]) -> None:
    says(text, kind, **parts)


OF_ARGOCD = (
    RepoUnreachable,
    RepoAuthFailed,
    RevisionNotFound,
    RepoServerDown,
    ArgocdCacheDown,
    ArgocdDiskFull,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # A connection, a Redis and a disk of the application are not Argo CD's.
        ("dial tcp 10.0.0.5:5432: connect: connection refused", ConnectionFailed),
        ("dial tcp: lookup redis-master on 10.0.0.2:53: no such host", ConnectionFailed),
        ('Failed to pull image "redis:7000": docker.io/library/redis:7000: not found', ImagePull),
        ('Failed to pull image "a": write /var/lib/x: no space left on device', ImagePull),
        ("write /var/lib/postgresql/data/x: no space left on device", Unknown),
        (
            'MountVolume.SetUp failed for volume "v" : rpc error: code = Unavailable desc = '
            "connection error: desc = "
            '"transport: Error while dialing: dial unix:///csi/csi.sock: connect: no such file or directory"',
            FailedMount,
        ),
        ('secret "a" not found', DependencyMissing),
        ('ERROR: relation "a" already exists', Unknown),
        ('plugin "x" not found', Unknown),
        ("all 401 rows were written", Unknown),
        ("the moon is in the wrong house", Unknown),
    ],
)
def test_near_misses(text: str, kind: type[Failure]) -> None:
    failures = understand(text).failures
    assert not any(isinstance(failure, OF_ARGOCD) for failure in failures)
    assert [type(failure) for failure in failures] == [kind]


@pytest.mark.parametrize(
    ("path", "key", "nil"),
    [
        (".Values.image.tag", "tag", ".Values.image"),
        (".Values.configs.params.create", "params", ".Values.configs"),
        ("$.Values.a.b", "b", ".Values.a"),
        (".Values.a", "a", ""),  # then all values are nil
        (".Values.image.tag", "other", ""),
    ],
)
def test_which_map_is_nil(path: str, key: str, nil: str) -> None:
    failure = HelmRender(text="", value_path=path, detail=f"nil pointer evaluating interface {{}}.{key}")
    assert failure.nil_map == nil


@pytest.mark.parametrize(
    ("detail", "status"),
    [
        ("The requested URL returned error: 503", "503"),
        ("unexpected status code: 502 Bad Gateway", "502"),
        ("HTTP/1.1 500 Internal Server Error", "500"),
        ("dial tcp 10.0.0.1:443: i/o timeout", ""),
        ("read 503 bytes", ""),
    ],
)
def test_the_http_status_of_a_host(detail: str, status: str) -> None:
    assert RepoUnreachable(text="", detail=detail).http_status == status


def test_a_helm_repository_that_is_not_registered_is_no_outage() -> None:
    failure = HelmDependency(text="", detail="no repository definition for https://charts.example.com")
    assert failure.repo_is_unknown
    assert not failure.repo_is_unavailable


def test_the_ref_that_no_source_has() -> None:
    text = "source referenced \"values\", but no source has a 'ref' field defined"
    assert SourceSpecInvalid(text="", detail=text).missing_ref == "values"


@pytest.mark.parametrize(
    ("text", "of_helm"),
    [
        ("at <.Values.image.tag>: nil pointer evaluating interface {}.tag", True),
        ('at <include "shop.name" .>: error calling include: no template', True),
        ("at <$root.Values.x>: wrong type for value", True),
        ("TypeError: shop is not a function\n    at <anonymous>: line 3", False),
        ("unexpected token at <EOF>: line 3", False),
    ],
)
def test_the_end_of_a_template_error_names_an_expression(text: str, *, of_helm: bool) -> None:
    assert any(isinstance(failure, HelmRender) for failure in understand(text).failures) is of_helm


@pytest.mark.parametrize(
    ("detail", "cannot_decrypt"),
    [
        ("Failed to get the data key required to decrypt the SOPS file", True),
        ("error decrypting file: no key could be used", True),
        ("open /apps/decrypt-job.yaml: no such file or directory", False),
        ("open /apps/decrypt/job.yaml: no such file or directory", False),
    ],
)
def test_a_file_name_is_no_failed_decryption(detail: str, *, cannot_decrypt: bool) -> None:
    assert KustomizeBuild(text=detail, detail=detail).cannot_decrypt is cannot_decrypt


def test_digits_of_a_name_are_no_status() -> None:
    assert RepoAuthFailed(text="", detail="unexpected status 403 Forbidden").is_forbidden
    assert not RepoAuthFailed(text="", detail="denied for team-4031/deploy").is_forbidden


def test_a_registry_in_a_chart_source_is_named_without_its_scheme() -> None:
    """`helm pull --repo` takes URLs of HTTP; the registry itself answers."""
    text = (
        "rpc error: code = Unknown desc = `helm pull --destination /tmp/x --version 1.0.1 --repo"
        " oci://registry.example.com/charts shop` failed exit status 1: Error: looks like"
        ' "oci://registry.example.com/charts" is not a valid chart repository or cannot be reached:'
        " object required"
    )
    (failure,) = understand(text).failures
    assert isinstance(failure, SourceSpecInvalid)
    assert "oci://registry.example.com/charts" in failure.detail
