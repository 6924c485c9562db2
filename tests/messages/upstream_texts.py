"""Error texts of Argo CD, Git, Helm, Kustomize, registries and plugins, as an Application reports them.

The shapes are those that the programs can produce; names and values are invented. Each group has the wrapper
that Argo CD puts around the texts, and each text the causes that an expert accepts as the first one.
"""

from __future__ import annotations

from typing import NamedTuple

from whysync.messages.pasted import Origin

REPO_SERVER = (
    "Failed to load target state: failed to generate manifest for source 1 of 1: rpc "
    "error: code = Unknown desc = "
)
CACHED = REPO_SERVER + ("Manifest generation error (cached): ")
INITIALIZE = REPO_SERVER + (
    "failed to initialize repository resources: rpc error: code = Internal desc = Failed to fetch default: "
)
FETCH = INITIALIZE + ("`git fetch origin --tags --force --prune` failed exit status 128: ")
CHECKOUT = REPO_SERVER + (
    "failed to initialize repository resources: rpc error: code = Internal desc = "
    "Failed to checkout revision 4f2c9d1e: `git checkout --force 4f2c9d1e` failed exit "
    "status 128: "
)
LIST_REFS = REPO_SERVER + ("failed to list refs: ")
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
KUSTOMIZE = REPO_SERVER + (
    "`kustomize build <path to cached source>/overlays/prod` failed exit status 1: Error: "
)
PLUGIN_SIDECAR = REPO_SERVER + (
    "plugin sidecar failed. error generating manifests in cmp: rpc error: code = "
    'Unknown desc = error generating manifests: `sh -c "render.sh | decrypt"` failed '
    "exit status 1: "
)
VAULT_PLUGIN = REPO_SERVER + (
    'CMP processing failed for application "web": error generating manifests in cmp: '
    "rpc error: code = Unknown desc = error generating manifests: `argocd-vault-plugin "
    "generate .` failed exit status 1: Error: "
)
OLD_PLUGIN = CACHED + ("`argocd-vault-plugin generate ./` failed exit status 1: Error: ")
OCI_DIGEST = REPO_SERVER + ('failed to resolve revision "2.1.0": cannot get digest for revision 2.1.0: ')
OCI_TAGS = REPO_SERVER + ("error fetching tags: failed to get tags: ")
LIVE_STATE = "Failed to load live state: "
CLUSTER_CACHE = LIVE_STATE + (
    'failed to get cluster info for "https://10.4.0.1:6443": error synchronizing cache state : '
)
DIFF = "Failed to compare desired state to live state: failed to calculate diff: "
SERVER_SIDE_DIFF = DIFF + (
    "error calculating server side diff: serverSideDiff error: error running server "
    "side apply in dryrun mode for resource Deployment/web: "
)
APPLY = "one or more objects failed to apply, reason: "


class Group(NamedTuple):
    """`texts` by the causes that are accepted for them, separated by spaces; empty: none is needed."""

    origin: Origin
    condition: str
    wrapper: str
    texts: tuple[tuple[str, str], ...]


GROUPS: tuple[Group, ...] = (
    Group(
        Origin.CONDITION,
        "ComparisonError",
        FETCH,
        (
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': Could "
                "not resolve host: git.example.com",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "Failed to connect to git.example.com port 443 after 130412 ms: Couldn't "
                "connect to server",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "Operation too slow. Less than 1000 bytes/sec transferred the last 30 "
                "seconds",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': Empty reply from server",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "OpenSSL SSL_read: Connection reset by peer, errno 104",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "Received HTTP code 407 from proxy after CONNECT",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "CONNECT tunnel failed, response 503",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': The "
                "requested URL returned error: 502",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "gnutls_handshake() failed: The TLS connection was non-properly terminated.",
            ),
            (
                "tls-trust",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': "
                "server certificate verification failed. CAfile: none CRLfile: none",
            ),
            (
                "tls-trust",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': SSL "
                "certificate problem: unable to get local issuer certificate",
            ),
            (
                "tls-trust",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': SSL: "
                "no alternative certificate subject name matches target host name "
                "'git.example.com'",
            ),
            (
                "repo-auth",
                "fatal: unable to access 'https://git.example.com/team/deploy.git/': The "
                "requested URL returned error: 403",
            ),
            (
                "repo-auth",
                "remote: HTTP Basic: Access denied. The provided password or token is "
                "incorrect or your account has 2FA enabled\nfatal: Authentication failed "
                "for 'https://git.example.com/team/deploy.git/'",
            ),
            (
                "repo-auth",
                "fatal: could not read Username for 'https://git.example.com': terminal prompts disabled",
            ),
            (
                "repo-auth",
                "remote: Your token has expired\nfatal: Authentication failed for "
                "'https://git.example.com/team/deploy.git/'",
            ),
            (
                "repo-auth",
                "remote: The 'team' organization has enabled or enforced SAML SSO. To "
                "access this repository, you must re-authorize the OAuth "
                "application.\nfatal: unable to access "
                "'https://git.example.com/team/deploy.git/': The requested URL returned "
                "error: 403",
            ),
            (
                "repo-auth",
                "git@git.example.com: Permission denied (publickey).\nfatal: Could not read "
                "from remote repository.\n\nPlease make sure you have the correct access "
                "rights\nand the repository exists.",
            ),
            (
                "repo-auth",
                'Load key "/dev/shm/8812": error in libcrypto\ngit@git.example.com: '
                "Permission denied (publickey).\nfatal: Could not read from remote "
                "repository.",
            ),
            (
                "repo-auth repo-unreachable",
                "ERROR: Repository not found.\nfatal: Could not read from remote "
                "repository.\n\nPlease make sure you have the correct access rights\nand the "
                "repository exists.",
            ),
            (
                "repo-auth",
                "ERROR: The deploy key you are authenticating with has been "
                "disabled.\nfatal: Could not read from remote repository.",
            ),
            (
                "repo-unreachable",
                "ssh: connect to host git.example.com port 22: Connection timed out\nfatal: "
                "Could not read from remote repository.",
            ),
            (
                "repo-unreachable",
                "kex_exchange_identification: Connection closed by remote host\nConnection "
                "closed by 192.0.2.10 port 22\nfatal: Could not read from remote repository.",
            ),
            (
                "tls-trust",
                "No ED25519 host key is known for git.example.com and you have requested "
                "strict checking.\nHost key verification failed.\nfatal: Could not read from "
                "remote repository.",
            ),
            (
                "repo-unreachable repo-auth",
                "Unable to negotiate with 192.0.2.10 port 22: no matching host key type "
                "found. Their offer: ssh-rsa\nfatal: Could not read from remote repository.",
            ),
            (
                "repo-unreachable",
                "error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly: CANCEL "
                "(err 8)\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output",
            ),
            ("repo-unreachable", "fatal: the remote end hung up unexpectedly"),
            (
                "repo-unreachable",
                "remote: Internal Server Error\nfatal: unable to access "
                "'https://git.example.com/team/deploy.git/': The requested URL returned "
                "error: 500",
            ),
            ("repo-unreachable", "fatal: protocol error: bad line length character: <!DO"),
            (
                "repo-unreachable repo-auth",
                "fatal: https://git.example.com/team/deploy.git/info/refs not valid: is "
                "this a git repository?",
            ),
            (
                "repo-unreachable repo-auth",
                "remote: The project you were looking for could not be found or you don't "
                "have permission to view it.\nfatal: repository "
                "'https://git.example.com/team/deploy.git/' not found",
            ),
            (
                "repo-unreachable repo-auth",
                "remote: Not Found\nfatal: repository 'https://git.example.com/team/deploy.git/' not found",
            ),
            (
                "repo-unreachable",
                "remote: This repository is currently disabled.\nfatal: unable to access "
                "'https://git.example.com/team/deploy.git/': The requested URL returned "
                "error: 503",
            ),
            (
                "repo-server-down argocd-disk-full",
                "fatal: write error: No space left on device\nfatal: fetch-pack: unpack-objects failed",
            ),
            (
                "repo-server-down",
                "error: cannot lock ref 'refs/remotes/origin/main': Unable to create "
                "'/tmp/_argocd-repo/8f/.git/refs/remotes/origin/main.lock': File exists.",
            ),
            (
                "repo-server-down repo-unreachable",
                "error: cannot lock ref 'refs/remotes/origin/feature/x': "
                "'refs/remotes/origin/feature' exists; cannot create "
                "'refs/remotes/origin/feature/x'",
            ),
            (
                "repo-server-down",
                "fatal: unable to create thread: Resource temporarily unavailable\nfatal: "
                "fetch-pack: invalid index-pack output",
            ),
            ("repo-server-down", "error: cannot fork() for rev-list: Cannot allocate memory"),
            ("repo-server-down", "fatal: Out of memory, malloc failed (tried to allocate 524288000 bytes)"),
            (
                "repo-server-down",
                "fatal: detected dubious ownership in repository at "
                "'/tmp/_argocd-repo/8f'\nTo add an exception for this directory, "
                "call:\n\n\tgit config --global --add safe.directory /tmp/_argocd-repo/8f",
            ),
            (
                "repo-server-down",
                "error: object file .git/objects/1f/2a is empty\nfatal: loose object 1f2a "
                "(stored in .git/objects/1f/2a) is corrupt",
            ),
            ("repo-server-down", "fatal: bad object refs/remotes/origin/main"),
            ("repo-server-down", "error: could not write config file .git/config: Read-only file system"),
            (
                "repo-server-down",
                "error: insufficient permission for adding an object to repository database .git/objects",
            ),
            ("revision-not-found", "fatal: couldn't find remote ref refs/heads/release-9"),
            (
                "revision-not-found",
                "fatal: remote error: upload-pack: not our ref 4f2c9d1e0b7e4a8c9f6d5e4c3b2a190817263544",
            ),
            ("repo-unreachable repo-server-down", "fatal: fetch-pack: invalid index-pack output"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        INITIALIZE,
        (
            (
                "generation-timeout repo-unreachable",
                "`git fetch origin --tags --force --prune` failed timeout after 1m30s",
            ),
            ("repo-server-down", "`git fetch origin --tags --force --prune` failed signal: killed"),
            ("repo-server-down", "fork/exec /usr/bin/git: resource temporarily unavailable"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        CHECKOUT,
        (
            ("revision-not-found", "fatal: reference is not a tree: 4f2c9d1e"),
            ("revision-not-found", "error: pathspec '4f2c9d1e' did not match any file(s) known to git"),
            (
                "repo-auth repo-unreachable",
                "error: external filter 'git-lfs filter-process' failed\nfatal: "
                "charts/big.tgz: smudge filter lfs failed",
            ),
            (
                "repo-server-down",
                "error: Your local changes to the following files would be overwritten by "
                "checkout:\n\tvalues.yaml\nPlease commit your changes or stash them before "
                "you switch branches.\nAborting",
            ),
            (
                "repo-server-down",
                "fatal: Unable to create '/tmp/_argocd-repo/8f/.git/index.lock': File "
                "exists.\n\nAnother git process seems to be running in this repository",
            ),
            (
                "repo-server-down argocd-disk-full",
                "error: unable to create file app/values.yaml: No space left on device",
            ),
            ("repo-server-down", "error: unable to create file app/values.yaml: Permission denied"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        REPO_SERVER,
        (
            (
                "repo-auth",
                "failed to initialize repository resources: rpc error: code = Internal "
                "desc = Failed to checkout revision 4f2c9d1e: failed to update submodules: "
                "`git submodule update --init --recursive` failed exit status 1: Submodule "
                "'lib' (https://git.example.com/team/lib.git) registered for path "
                "'lib'\nfatal: could not read Username for 'https://git.example.com': "
                "terminal prompts disabled",
            ),
            (
                "repo-unreachable repo-auth revision-not-found",
                "failed to initialize repository resources: rpc error: code = Internal "
                "desc = Failed to checkout revision 4f2c9d1e: failed to update submodules: "
                "`git submodule update --init --recursive` failed exit status 128: fatal: "
                "No url found for submodule path 'lib' in .gitmodules",
            ),
            ("revision-not-found", "unable to resolve 'release-9' to a commit SHA"),
            (
                "repo-unreachable",
                "Unable to resolve 'main' to a commit SHA: dial tcp 192.0.2.10:443: i/o timeout",
            ),
            ("revision-not-found", "Unable to resolve 'main' to a commit SHA: revision not found"),
            ("path-not-found", "apps/prod: app path does not exist"),
            ("path-not-found", "apps/prod: app path is not a directory"),
            ("path-not-found", "/apps/prod: app path is absolute"),
            ("path-not-found", "repository contains out-of-bounds symlinks. file: apps/link"),
            (
                "path-not-found invalid-yaml",
                "failed to get potentially valid manifests: failed to evaluate symlink at "
                '"app/link.yaml": lstat /tmp/x: no such file or directory',
            ),
            (
                "path-not-found helm-render",
                "error resolving helm value files: error resolving value file path: file "
                "'../../values.yaml' resolved to outside repository root",
            ),
            (
                "helm-render path-not-found",
                "error resolving helm value files: error resolving value file path: the "
                "URL scheme 'ftp' is not allowed",
            ),
            (
                "helm-render path-not-found",
                "error resolving helm value file path: internal error: failed to resolve "
                "path. Check logs for more details",
            ),
            ("repo-server-down", "error creating temp dir: mkdir /tmp/_argocd: permission denied"),
            ("repo-server-down", "error writing helm values file: open /tmp/81fe: permission denied"),
            ("repo-server-down", "error writing helm values file: open /tmp/81fe: read-only file system"),
            (
                "repo-server-down argocd-disk-full",
                "error writing helm values file: write /tmp/81fe: no space left on device",
            ),
            ("repo-server-down", "open /tmp/_argocd-repo/8f/.git: too many open files"),
            ("repo-server-down", "fork/exec /usr/local/bin/helm: cannot allocate memory"),
            (
                "repo-server-down kustomize-build helm-render",
                "fork/exec /usr/local/bin/kustomize_4_5: no such file or directory",
            ),
            (
                "kustomize-build helm-render repo-server-down",
                'exec: "kustomize": executable file not found in $PATH',
            ),
            ("repo-server-down", "permission denied"),
            ("repo-server-down", "error extracting chart: permission denied"),
            ("resource-too-large", "exceeded max combined manifest file size"),
            (
                "invalid-yaml",
                "failed to unmarshal manifest: error converting YAML to JSON: yaml: line "
                "14: did not find expected key",
            ),
            ("invalid-yaml", 'Failed to unmarshal "deploy.yaml": <nil>'),
            (
                "invalid-yaml",
                'Failed to unmarshal "deploy.yaml": failed to unmarshal manifest: error '
                "converting YAML to JSON: yaml: line 4: mapping values are not allowed in "
                "this context",
            ),
            (
                "invalid-yaml",
                'Found multiple objects in "all.json". Only single objects are allowed in JSON files.',
            ),
            ("invalid-yaml", "Object 'Kind' is missing in '{\"foo\":\"bar\"}'"),
            (
                "jsonnet",
                'Failed to evaluate jsonnet "main.jsonnet": RUNTIME ERROR: couldn\'t open '
                'import "lib.libsonnet": no match locally or in the Jsonnet library paths',
            ),
            (
                "helm-render",
                'could not parse kubernetes version x: strconv.ParseUint: parsing "x": invalid syntax',
            ),
            (
                "project-denied",
                "helm repos https://charts.example.com are not permitted in project 'default'",
            ),
            (
                "helm-dependency helm-render",
                "error getting helm repos: error retrieving helm dependency repos: error "
                "reading helm chart from /tmp/x/Chart.yaml: open /tmp/x/Chart.yaml: no "
                "such file or directory",
            ),
            (
                "helm-dependency helm-render invalid-yaml",
                "error getting helm repos: error unmarshalling the helm chart while "
                "getting helm dependency repos: error converting YAML to JSON: yaml: line "
                "3: found character that cannot start any token",
            ),
            (
                "repo-auth helm-dependency",
                "failed to add helm repository https://charts.example.com: failed to add "
                "repository: `helm repo add https:--charts.example.com "
                "https://charts.example.com` failed exit status 1: Error: looks like "
                '"https://charts.example.com" is not a valid chart repository or cannot be '
                "reached: failed to fetch https://charts.example.com/index.yaml : 403 "
                "Forbidden",
            ),
            (
                "repo-auth helm-dependency",
                "error building helm chart dependencies: failed to login to registry "
                "registry.example.com: failed to login to registry: `helm registry login "
                "registry.example.com --username ****** --password ******` failed exit "
                'status 1: Error: authenticating to "registry.example.com": response '
                "status code 401: unauthorized",
            ),
            (
                "generation-timeout repo-unreachable helm-dependency",
                "error building helm chart dependencies: failed to add helm repository "
                "https://charts.example.com: failed to add repository: `helm repo add "
                "--username ****** --password ****** --pass-credentials "
                "https:--charts.example.com https://charts.example.com` failed timeout "
                "after 1m30s",
            ),
            (
                "generation-timeout repo-unreachable",
                "error fetching chart: failed to fetch chart: failed to get command args "
                "to log: `helm pull --destination /tmp/8d --version 1.2.3 --username "
                "****** --password ****** --repo https://charts.example.com web` failed "
                "timeout after 1m30s",
            ),
            ("generation-timeout", "`helm template . --name-template web` failed timeout after 1m30s"),
            (
                "generation-timeout",
                "`kustomize build <path to cached source>/overlays/prod` failed timeout after 1m30s",
            ),
            (
                "repo-server-down",
                "`kustomize build <path to cached source>/overlays/prod` failed signal: killed",
            ),
            ("kustomize-build", "kustomize version v4.5.7 is not registered"),
            (
                "kustomize-build",
                "error getting kustomize binary path: kustomize version v4.5.7 is not registered",
            ),
            (
                "kustomize-build invalid-yaml",
                "failed to load kustomization.yaml: open /tmp/x/kustomization.yaml: no "
                "such file or directory",
            ),
            (
                "kustomize-build invalid-yaml",
                "expected 'patches' field in kustomization.yaml to be []any, but got map[string]interface {}",
            ),
            ("plugin", 'could not find cmp-server plugin with name "avp" supporting the given repository'),
            (
                "plugin",
                'CMP processing failed for application "web": could not find plugin '
                "supporting the given repository",
            ),
            (
                "invalid-yaml path-not-found",
                "error getting app source type: error while parsing source parameters: "
                ".argocd-source.yaml: yaml: line 2: mapping values are not allowed in this "
                "context",
            ),
            ("path-not-found", 'source referenced "vals", which is not one of the available sources (base)'),
            (
                "path-not-found",
                "cannot reference a different revision of the same repository ($vals "
                'references "main" which resolves to "a1" while the application references '
                '"v2" which resolves to "b2")',
            ),
            ("source-integrity", "revision 4f2c9d1e is not signed"),
            (
                "source-integrity",
                "GIT/GPG: Failed verifying revision 4f2c9d1e by 'Dev <dev@example.com>': "
                "signed with key not in keyring (key_id=AB12)",
            ),
            ("source-integrity", 'unknown GPG mode "none-ish" configured for GIT source integrity'),
            (
                "repo-server-down generation-timeout",
                "error receiving manifest file stream: stream context error: context canceled",
            ),
            (
                "revision-not-found",
                "no version for constraints: version matching constraint not found in 12 tags",
            ),
            (
                "path-not-found",
                "cannot extract contents of oci image with revision sha256:ab12: oci layer "
                "media type application/vnd.oci.image.layer.v1.tar is not in the list of "
                "allowed media types",
            ),
            ("path-not-found", "expected only a single oci content layer, got 7"),
            (
                "path-not-found repo-unreachable",
                "failed to initialize oci client: failed to parse oci repo url: parse "
                '"oci://x y": invalid character " " in host name',
            ),
            (
                "repo-auth",
                "failed to get password for Azure: failed to challenge Azure Container "
                "Registry: registry 'registry.example.com' did not issue a challenge",
            ),
            (
                "repo-auth",
                "failed to get Azure access token after challenge: failed to get refresh "
                "token: 401 Unauthorized",
            ),
            ("revision-not-found repo-unreachable", "chart 'web' not found in index"),
            ("repo-unreachable", "failed to get index: failed to get index: 404 Not Found"),
            ("repo-auth", "failed to get index: failed to get index: 401 Unauthorized"),
            (
                "repo-unreachable",
                'failed to get index: Get "https://charts.example.com/index.yaml": dial '
                "tcp 192.0.2.7:443: connect: connection refused",
            ),
            (
                "repo-unreachable invalid-yaml",
                "failed to get index: error converting YAML to JSON: yaml: line 3: mapping "
                "values are not allowed in this context",
            ),
            (
                "generation-timeout plugin",
                "plugin sidecar failed. error generating manifests in cmp: rpc error: code "
                "= Unknown desc = error generating manifests: `sh -c render` failed "
                "timeout after 1m30s",
            ),
            (
                "plugin",
                "plugin sidecar failed. error generating manifests in cmp: rpc error: code "
                "= Unknown desc = error generating manifests: fork/exec "
                "/usr/local/bin/render: permission denied",
            ),
            (
                "plugin generation-timeout",
                "plugin sidecar failed. error generating manifests in cmp: rpc error: code "
                "= DeadlineExceeded desc = context deadline exceeded",
            ),
            (
                "plugin",
                "plugin sidecar failed. error generating manifests in cmp: error sending "
                "file to cmp-server: error sending tgz file to cmp-server: EOF",
            ),
            (
                "plugin",
                'plugin sidecar failed. couldn\'t find cmp-server plugin with name "avp" '
                "supporting the given repository",
            ),
            ("plugin", "error dialing to cmp-server for plugin avp: context deadline exceeded"),
            (
                "plugin repo-server-down",
                "plugin sidecar failed. error generating manifests in cmp: rpc error: code "
                '= Unavailable desc = connection error: desc = "transport: Error while '
                "dialing: dial unix /home/argocd/cmp-server/plugins/avp.sock: connect: "
                'connection refused"',
            ),
            (
                "plugin resource-too-large",
                "plugin sidecar failed. error generating manifests in cmp: rpc error: code "
                "= ResourceExhausted desc = grpc: received message larger than max "
                "(150000000 vs. 104857600)",
            ),
            ("argocd-cache-down", "dial tcp: lookup argocd-redis on 10.96.0.10:53: no such host"),
            ("argocd-cache-down", "WRONGPASS invalid username-password pair or user is disabled."),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        LIST_REFS,
        (
            ("repo-auth", "authentication required"),
            ("repo-auth repo-unreachable", "authentication required: Repository not found."),
            ("repo-auth repo-unreachable", "repository not found"),
            ("repo-auth", "authorization failed"),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": dial tcp: lookup git.example.com on 10.96.0.10:53: no such host',
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": dial tcp 192.0.2.10:443: connect: connection refused',
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": net/http: request canceled while waiting for connection '
                "(Client.Timeout exceeded while awaiting headers)",
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-pack": EOF',
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": proxyconnect tcp: dial tcp 192.0.2.3:3128: i/o timeout',
            ),
            (
                "repo-unreachable",
                "unexpected requesting "
                '"https://git.example.com/team/deploy.git/info/refs?service=git-upload-pack'
                '" status code: 503',
            ),
            (
                "repo-unreachable",
                "unexpected client error: unexpected requesting "
                '"https://git.example.com/team/deploy.git/info/refs?service=git-upload-pack'
                '" status code: 429',
            ),
            (
                "tls-trust",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": tls: failed to verify certificate: x509: certificate signed by '
                "unknown authority",
            ),
            (
                "tls-trust",
                'Get "https://git.example.com/team/deploy.git/info/refs?service=git-upload-'
                'pack": x509: certificate has expired or is not yet valid: current time '
                "2026-01-01T00:00:00Z is after 2025-12-31T23:59:59Z",
            ),
            ("tls-trust", "ssh: handshake failed: knownhosts: key is unknown"),
            ("tls-trust", "ssh: handshake failed: knownhosts: key mismatch"),
            (
                "repo-auth",
                "ssh: handshake failed: ssh: unable to authenticate, attempted methods "
                "[none publickey], no supported methods remain",
            ),
            (
                "repo-unreachable repo-auth tls-trust",
                "ssh: handshake failed: ssh: no common algorithm for host key; we offered: "
                "[ssh-ed25519], peer offered: [ssh-dss]",
            ),
            ("repo-auth", "ssh: this private key is passphrase protected"),
            ("repo-auth", 'error creating SSH agent: "SSH agent requested but SSH_AUTH_SOCK not-specified"'),
            ("repo-unreachable", "dial tcp 192.0.2.10:22: connect: no route to host"),
            ("repo-unreachable", "remote repository is empty"),
            (
                "repo-auth",
                "failed to get access token from creds: could not refresh installation id "
                '7\'s token: received non 2xx response status "401 Unauthorized" when '
                "fetching https://api.example.com/app/installations/7/access_tokens",
            ),
            (
                "repo-auth",
                "failed to get access token from creds: failed to get Azure access token: "
                "WorkloadIdentityCredential: no client ID specified. Check pod "
                "configuration or set ClientID in the options",
            ),
            ("repo-unreachable", 'unsupported scheme "htps"'),
            (
                "repo-unreachable",
                'parse "https://git.example.com:team/deploy.git": invalid port ":team" after host',
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        OCI_DIGEST,
        (
            ("revision-not-found", "registry.example.com/team/web:2.1.0: not found"),
            (
                "repo-auth",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": GET '
                '"https://registry.example.com/token?scope=x": response status code 401: '
                "unauthorized: authentication required",
            ),
            (
                "repo-auth",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": response '
                "status code 403: Forbidden",
            ),
            (
                "repo-unreachable",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": dial '
                "tcp: lookup registry.example.com: no such host",
            ),
            (
                "repo-unreachable",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": http: '
                "server gave HTTP response to HTTPS client",
            ),
            (
                "repo-unreachable",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": response '
                "status code 429: toomanyrequests: You have reached your pull rate limit",
            ),
            (
                "tls-trust",
                'HEAD "https://registry.example.com/v2/team/web/manifests/2.1.0": tls: '
                "failed to verify certificate: x509: certificate signed by unknown "
                "authority",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        OCI_TAGS,
        (
            (
                "repo-auth",
                'GET "https://registry.example.com/v2/team/web/tags/list": basic credential not found',
            ),
            (
                "repo-auth",
                'GET "https://registry.example.com/v2/team/web/tags/list": response status '
                "code 401: Unauthorized",
            ),
            (
                "repo-unreachable revision-not-found",
                'GET "https://registry.example.com/v2/team/web/tags/list": response status '
                "code 404: name unknown: repository name not known to registry",
            ),
            (
                "repo-unreachable",
                'GET "https://registry.example.com/v2/team/web/tags/list": response status '
                "code 500: Internal Server Error",
            ),
            ("repo-unreachable", 'invalid reference: invalid registry "https:"'),
        ),
    ),
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
    Group(
        Origin.CONDITION,
        "ComparisonError",
        PLUGIN_SIDECAR,
        (
            ("plugin cached-error", "permission denied"),
            (
                "plugin cached-error",
                "Error making API request.\n\nURL: PUT "
                "https://vault.example.com:8200/v1/auth/kubernetes/login\nCode: 403. "
                "Errors:\n\n* permission denied",
            ),
            ("plugin cached-error", "Could not find secrets at path kv/data/web with version latest"),
            (
                "plugin cached-error",
                'Get "https://vault.example.com:8200/v1/kv/web": dial tcp 192.0.2.9:8200: '
                "connect: connection refused",
            ),
            (
                "plugin cached-error",
                'Get "https://vault.example.com:8200/v1/kv/web": x509: certificate signed '
                "by unknown authority",
            ),
            ("plugin cached-error", "open /home/argocd/.config/creds: no such file or directory"),
            (
                "plugin cached-error",
                "Replace: could not replace all placeholders in Template:\nSecret web: "
                "replaceString: missing Vault value for placeholder password",
            ),
            (
                "plugin cached-error",
                "AccessDeniedException: User is not authorized to perform: secretsmanager:GetSecretValue",
            ),
            ("plugin cached-error", "yaml: line 12: did not find expected key"),
            (
                "plugin cached-error helm-render",
                "template: web/templates/deploy.yaml:12:22: executing "
                '"web/templates/deploy.yaml" at <.Values.image.tag>: nil pointer '
                "evaluating interface {}.tag",
            ),
            (
                "plugin cached-error kustomize-build",
                "accumulating resources: accumulation err='accumulating resources from "
                "'../base': open /tmp/x: no such file or directory'",
            ),
            (
                "plugin cached-error",
                'secrets "vault-token" is forbidden: User '
                '"system:serviceaccount:argocd:argocd-repo-server" cannot get resource '
                '"secrets" in API group "" in the namespace "web"',
            ),
            ("plugin cached-error", 'no matches for kind "Foo" in version "example.com/v1"'),
            ("plugin cached-error", "authentication required"),
            ("plugin cached-error", "context deadline exceeded"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        VAULT_PLUGIN,
        (
            ("plugin cached-error", "permission denied"),
            (
                "plugin cached-error",
                "Error making API request.\n\nURL: PUT "
                "https://vault.example.com:8200/v1/auth/kubernetes/login\nCode: 403. "
                "Errors:\n\n* permission denied",
            ),
            ("plugin cached-error", "Could not find secrets at path kv/data/web with version latest"),
            (
                "plugin cached-error",
                'Get "https://vault.example.com:8200/v1/kv/web": dial tcp 192.0.2.9:8200: '
                "connect: connection refused",
            ),
            (
                "plugin cached-error",
                'Get "https://vault.example.com:8200/v1/kv/web": x509: certificate signed '
                "by unknown authority",
            ),
            ("plugin cached-error", "open /home/argocd/.config/creds: no such file or directory"),
            (
                "plugin cached-error",
                "Replace: could not replace all placeholders in Template:\nSecret web: "
                "replaceString: missing Vault value for placeholder password",
            ),
            (
                "plugin cached-error",
                "AccessDeniedException: User is not authorized to perform: secretsmanager:GetSecretValue",
            ),
            ("plugin cached-error", "yaml: line 12: did not find expected key"),
            (
                "plugin cached-error helm-render",
                "template: web/templates/deploy.yaml:12:22: executing "
                '"web/templates/deploy.yaml" at <.Values.image.tag>: nil pointer '
                "evaluating interface {}.tag",
            ),
            (
                "plugin cached-error kustomize-build",
                "accumulating resources: accumulation err='accumulating resources from "
                "'../base': open /tmp/x: no such file or directory'",
            ),
            (
                "plugin cached-error",
                'secrets "vault-token" is forbidden: User '
                '"system:serviceaccount:argocd:argocd-repo-server" cannot get resource '
                '"secrets" in API group "" in the namespace "web"',
            ),
            ("plugin cached-error", 'no matches for kind "Foo" in version "example.com/v1"'),
            ("plugin cached-error", "authentication required"),
            ("plugin cached-error", "context deadline exceeded"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        OLD_PLUGIN,
        (
            ("plugin cached-error", "permission denied"),
            (
                "plugin cached-error",
                "Error making API request.\n\nURL: PUT "
                "https://vault.example.com:8200/v1/auth/kubernetes/login\nCode: 403. "
                "Errors:\n\n* permission denied",
            ),
            ("plugin cached-error", "Could not find secrets at path kv/data/web with version latest"),
            (
                "plugin cached-error",
                'Get "https://vault.example.com:8200/v1/kv/web": dial tcp 192.0.2.9:8200: '
                "connect: connection refused",
            ),
            (
                "plugin cached-error",
                'Get "https://vault.example.com:8200/v1/kv/web": x509: certificate signed '
                "by unknown authority",
            ),
            ("plugin cached-error", "open /home/argocd/.config/creds: no such file or directory"),
            (
                "plugin cached-error",
                "Replace: could not replace all placeholders in Template:\nSecret web: "
                "replaceString: missing Vault value for placeholder password",
            ),
            (
                "plugin cached-error",
                "AccessDeniedException: User is not authorized to perform: secretsmanager:GetSecretValue",
            ),
            ("plugin cached-error", "yaml: line 12: did not find expected key"),
            (
                "plugin cached-error helm-render",
                "template: web/templates/deploy.yaml:12:22: executing "
                '"web/templates/deploy.yaml" at <.Values.image.tag>: nil pointer '
                "evaluating interface {}.tag",
            ),
            (
                "plugin cached-error kustomize-build",
                "accumulating resources: accumulation err='accumulating resources from "
                "'../base': open /tmp/x: no such file or directory'",
            ),
            (
                "plugin cached-error",
                'secrets "vault-token" is forbidden: User '
                '"system:serviceaccount:argocd:argocd-repo-server" cannot get resource '
                '"secrets" in API group "" in the namespace "web"',
            ),
            ("plugin cached-error", 'no matches for kind "Foo" in version "example.com/v1"'),
            ("plugin cached-error", "authentication required"),
            ("plugin cached-error", "context deadline exceeded"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        "",
        (
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = connection error: desc = "
                '"transport: Error while dialing: dial tcp 10.96.4.2:8081: connect: '
                'connection refused"',
            ),
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = dns: A record lookup error: "
                "lookup argocd-repo-server on 10.96.0.10:53: no such host",
            ),
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = error reading from server: EOF",
            ),
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = closing transport due to: "
                'connection error: desc = "error reading from server: EOF", received prior '
                "goaway: code: NO_ERROR",
            ),
            (
                "generation-timeout",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            ),
            (
                "generation-timeout repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Canceled desc = context canceled",
            ),
            (
                "resource-too-large",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = ResourceExhausted desc = grpc: received message "
                "larger than max (110000000 vs. 104857600)",
            ),
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unimplemented desc = unknown method GenerateManifest "
                "for service repository.RepoServerService",
            ),
            (
                "repo-server-down tls-trust",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = connection error: desc = "
                '"transport: authentication handshake failed: tls: failed to verify '
                'certificate: x509: certificate signed by unknown authority"',
            ),
            (
                "settings-malformed",
                "Failed to load target state: failed to get Helm settings: error "
                "unmarshaling JSON: while decoding JSON: json: cannot unmarshal string "
                "into Go value of type []string",
            ),
            (
                "settings-malformed",
                "Failed to load target state: failed to get Kustomize settings: failed to "
                'add kustomize version from "kustomize.path.v4": found duplicate kustomize '
                "version: v4",
            ),
            (
                "settings-malformed",
                "error getting resource overrides: group kind should be in format "
                "`resource.customizations.<type>.<group_kind>` or "
                "resource.customizations.<type>.<kind>, got group kind: 'a_b_c'",
            ),
            (
                "settings-malformed",
                "error unmarshalling excluded resources error converting YAML to JSON: "
                "yaml: line 3: did not find expected '-' indicator",
            ),
            ("settings-malformed", 'configmap "argocd-cm" not found'),
            ("settings-malformed", 'error retrieving argocd-cm: configmap "argocd-cm" not found'),
            ("settings-malformed", "server.secretkey is missing"),
            (
                "settings-malformed",
                "Failed to load resource overrides: yaml: line 2: could not find expected ':'",
            ),
            ("project-missing", "Application referencing project shop which does not exist"),
            ("project-missing", 'error getting app project "shop": appprojects.argoproj.io "shop" not found'),
            (
                "cluster-auth settings-malformed secret-encoding",
                "error getting cluster: failed to unmarshal cluster config: invalid "
                "character 'b' looking for beginning of value",
            ),
            (
                "cluster-auth settings-malformed secret-encoding",
                "Unable to create K8s REST config: illegal base64 data at input byte 4",
            ),
            (
                "cluster-auth",
                "Unable to apply K8s REST config defaults: specifying a root certificates "
                "file with the insecure flag is not allowed",
            ),
            (
                "cluster-not-registered",
                "unable to find destination server: there are no clusters with this name: prod",
            ),
            (
                "cluster-not-registered",
                "application destination spec for web is invalid: unable to find "
                "destination server: there are no clusters with this name: prod",
            ),
            (
                "cluster-not-registered",
                'error getting cluster by server "https://10.4.0.1:6443": rpc error: code '
                '= NotFound desc = cluster "https://10.4.0.1:6443" not found',
            ),
            (
                "repo-auth settings-malformed repo-unreachable",
                "Failed to load target state: failed to get repo "
                '"https://git.example.com/team/deploy.git": unable to enrich repository '
                '"https://git.example.com/team/deploy.git" info with credentials: failed '
                "to get repository credentials for "
                '"https://git.example.com/team/deploy.git": secret "creds-1" not found',
            ),
            (
                "settings-malformed repo-auth repo-unreachable secret-encoding",
                "Failed to load target state: failed to list Helm repositories: "
                'strconv.ParseBool: parsing "yes please": invalid syntax',
            ),
            (
                "settings-malformed repo-auth repo-unreachable",
                "Failed to load target state: failed to list Helm repositories: "
                "Configuration error - please check the server logs",
            ),
            (
                "settings-malformed argocd-cache-down repo-server-down",
                "timed out waiting for settings cache to sync",
            ),
            (
                "ignore-rule-miss",
                "Failed to compare desired state to live state: failed to create diff "
                'normalizer: unexpected token "]"',
            ),
            (
                "health-script-error",
                'error setting app health: failed to get resource health for "Widget" with '
                'name "w" in namespace "web": <string>:4: attempt to index a non-table '
                "object(nil) with key 'phase'",
            ),
            (
                "cluster-unreachable controller-stale",
                "controller is configured to ignore cluster https://10.4.0.1:6443",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        DIFF,
        (
            (
                "diff-schema-error",
                "error calculating structured merge diff: error building typed value from "
                'config resource: .spec.template.spec.containers[name="web"].env: '
                'duplicate entries for key [name="A"]',
            ),
            (
                "diff-schema-error",
                "error calculating structured merge diff: error building typed value from "
                "live resource: .status.terminatingReplicas: field not declared in schema",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        SERVER_SIDE_DIFF,
        (
            (
                "admission-denied diff-schema-error",
                'admission webhook "check.example.com" denied the request: no latest tags',
            ),
            (
                "webhook-down diff-schema-error",
                'Internal error occurred: failed calling webhook "check.example.com": '
                "failed to call webhook: Post "
                '"https://check.kyverno.svc:443/v?timeout=10s": no endpoints available for '
                'service "check"',
            ),
            (
                "k8s-rbac diff-schema-error",
                'deployments.apps "web" is forbidden: User '
                '"system:serviceaccount:argocd:argocd-application-controller" cannot patch '
                'resource "deployments" in API group "apps" in the namespace "web"',
            ),
            ("cluster-auth", "Unauthorized"),
            (
                "cluster-unreachable",
                'Patch "https://10.4.0.1:6443/apis/apps/v1/namespaces/web/deployments/web?d'
                'ryRun=All": dial tcp 10.4.0.1:6443: connect: connection refused',
            ),
            (
                "immutable-field diff-schema-error",
                'Deployment.apps "web" is invalid: spec.selector: Invalid value: {}: field is immutable',
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        CLUSTER_CACHE,
        (
            (
                "cluster-unreachable",
                "failed to get server version: failed to get server version: Get "
                '"https://10.4.0.1:6443/version?timeout=32s": dial tcp 10.4.0.1:6443: i/o '
                "timeout",
            ),
            (
                "cluster-auth",
                "failed to get server version: failed to get server version: the server "
                "has asked for the client to provide credentials",
            ),
            (
                "cluster-auth",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Secret: Unauthorized",
            ),
            (
                "tls-trust cluster-auth",
                "failed to get server version: Get "
                '"https://10.4.0.1:6443/version?timeout=32s": tls: failed to verify '
                "certificate: x509: certificate signed by unknown authority",
            ),
            (
                "k8s-rbac",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Secret: secrets is forbidden: User "
                '"system:serviceaccount:argocd:argocd-manager" cannot list resource '
                '"secrets" in API group "" at the cluster scope',
            ),
            (
                "cluster-unreachable",
                'failed to get server version: Get "https://10.4.0.1:6443/version?timeout=32s": EOF',
            ),
            (
                "cluster-auth",
                "failed to get server version: Get "
                '"https://10.4.0.1:6443/version?timeout=32s": getting credentials: exec: '
                "executable argocd-k8s-auth failed with exit code 20",
            ),
            (
                "cluster-auth",
                "failed to get server version: Get "
                '"https://10.4.0.1:6443/version?timeout=32s": getting credentials: exec: '
                "executable aws not found",
            ),
            (
                "cluster-unreachable openapi-error",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Widget.example.com: the server was unable to return a "
                "response in the time allotted, but may still be processing the request",
            ),
            (
                "conversion-webhook-failed",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Widget.example.com: conversion webhook for "
                "example.com/v1alpha1, Kind=Widget failed: Post "
                '"https://widget.example.svc:443/convert?timeout=30s": no endpoints '
                'available for service "widget"',
            ),
            (
                "openapi-error",
                "failed to load open api schema while syncing cluster cache: error getting "
                "openapi resources: the server is currently unable to handle the request",
            ),
            (
                "cluster-unreachable",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Pod: etcdserver: leader changed",
            ),
            (
                "cluster-unreachable",
                'failed to get server version: an error on the server ("<html>503 Service '
                'Unavailable</html>") has prevented the request from succeeding',
            ),
            (
                "cluster-unreachable",
                "failed to get api resources: failed to discover server resources, zero "
                'resources returned: Get "https://10.4.0.1:6443/api?timeout=32s": context '
                "deadline exceeded",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        LIVE_STATE,
        (
            ("namespace-not-managed", 'namespace "web" for Deployment "web" is not managed'),
            (
                "cluster-unreachable",
                'failed to get cluster info for "https://10.4.0.1:6443": error getting '
                'cluster: failed to get cluster "https://10.4.0.1:6443": Get '
                '"https://10.96.0.1:443/api/v1/secrets": dial tcp 10.96.0.1:443: connect: '
                "connection refused",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "SyncError",
        "",
        (
            (
                "immutable-field",
                "Failed last sync attempt to 4f2c9d1e: one or more objects failed to "
                'apply, reason: Deployment.apps "web" is invalid: spec.selector: Invalid '
                "value: {}: field is immutable (retried 5 times).",
            ),
        ),
    ),
    Group(
        Origin.OPERATION,
        "Failed",
        APPLY,
        (
            ("namespace-missing", 'error when creating "/dev/shm/1": namespaces "shop" not found'),
            (
                "k8s-rbac",
                'error when creating "/dev/shm/1": deployments.apps is forbidden: User '
                '"system:serviceaccount:argocd:argocd-manager" cannot create resource '
                '"deployments" in API group "apps" in the namespace "web"',
            ),
            (
                "cluster-unreachable",
                'error when patching "/dev/shm/1": Patch '
                '"https://10.4.0.1:6443/apis/apps/v1/namespaces/web/deployments/web": dial '
                "tcp 10.4.0.1:6443: connect: connection refused",
            ),
            (
                "cluster-auth",
                'error validating "/dev/shm/1": error validating data: failed to download '
                "openapi: the server has asked for the client to provide credentials",
            ),
            ("missing-crd deprecated-api", "the server could not find the requested resource"),
            (
                "admission-denied",
                'admission webhook "check.example.com" denied the request: permission '
                "denied: image not signed",
            ),
            (
                "admission-denied",
                'admission webhook "check.example.com" denied the request: secret "db" not found',
            ),
            (
                "admission-denied",
                'admission webhook "validate.example.com" denied the request: x509: '
                "certificate in spec.tls is expired",
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "check.example.com": '
                "failed to call webhook: Post "
                '"https://check.kyverno.svc:443/v?timeout=10s": context deadline exceeded',
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "check.example.com": '
                "failed to call webhook: Post "
                '"https://check.kyverno.svc:443/v?timeout=10s": tls: failed to verify '
                "certificate: x509: certificate signed by unknown authority",
            ),
            (
                "argocd-disk-full repo-server-down",
                "failed to generate temp file for manifest: open /dev/shm/123: no space left on device",
            ),
            (
                "k8s-rbac",
                "error running rbacReconcile: error getting namespace web: namespaces "
                '"web" is forbidden: User "system:serviceaccount:argocd:argocd-manager" '
                'cannot get resource "namespaces" in API group "" in the namespace "web"',
            ),
            (
                "ssa-conflict",
                'Apply failed with 1 conflict: conflict with "kube-controller-manager" '
                "using apps/v1: .spec.replicas",
            ),
            ("cluster-unreachable", "etcdserver: request timed out"),
        ),
    ),
    Group(
        Origin.OPERATION,
        "Failed",
        "",
        (
            (
                "cluster-unreachable openapi-error",
                "failed to discover server resources for group version example.com/v1: Get "
                '"https://10.4.0.1:6443/apis/example.com/v1": dial tcp 10.4.0.1:6443: i/o '
                "timeout",
            ),
            (
                "settings-malformed",
                "Failed to load resource overrides: error unmarshaling JSON: json: cannot "
                "unmarshal array into Go value of type map[string]string",
            ),
            (
                "openapi-error",
                "failed to load openAPISchema: error getting openapi resources: the server "
                "is currently unable to handle the request",
            ),
            (
                "project-denied",
                "failed to derive service account to impersonate: no matching service "
                "account found for destination server https://10.4.0.1:6443 and namespace "
                "web",
            ),
            (
                "project-missing",
                'Failed to load application project: appprojects.argoproj.io "shop" not found',
            ),
            (
                "cluster-not-registered",
                'Failed to get destination cluster: error getting cluster by name "prod": '
                "there are no clusters with this name: prod",
            ),
            (
                "k8s-rbac hook-failed",
                "one or more synchronization tasks completed unsuccessfully, reason: "
                'failed to remove hook finalizer: jobs.batch "migrate" is forbidden: User '
                '"system:serviceaccount:argocd:argocd-manager" cannot update resource '
                '"jobs" in API group "batch" in the namespace "web"',
            ),
            (
                "hook-failed hook-stuck none",
                "one or more synchronization tasks completed unsuccessfully, reason: "
                "failed to delete resource: some hook trouble",
            ),
            (
                "argocd-rbac",
                "permission denied: applications, sync, default/web, sub: dev, iat: 2026-01-01T00:00:00Z",
            ),
            (
                "repo-auth",
                "ComparisonError: Failed to load target state: failed to generate manifest "
                "for source 1 of 1: rpc error: code = Unknown desc = failed to list refs: "
                "authentication required",
            ),
            (
                "project-denied",
                "resource rbac.authorization.k8s.io:ClusterRole is not permitted in project default",
            ),
            ("hook-failed hook-stuck none", "operation is terminating"),
            (
                "missing-crd",
                "the server could not find the requested resource: no matches for kind "
                '"Widget" in version "example.com/v1"',
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ErrorOccurred",
        "",
        (
            ("appset-error", "error generating params from git: failed to get params"),
            (
                "appset-error",
                "failed to execute go template {{.path.basename}}: template: :1:2: executing "
                '"" at <.path.basename>: map has no entry for key "path"',
            ),
            (
                "appset-error",
                "application destination spec is invalid: application destination can't have "
                "both name and server defined: in-cluster https://kubernetes.default.svc",
            ),
            (
                "appset-error project-denied",
                "application spec for shop is invalid: InvalidSpecError: application "
                "destination server 'x' and namespace 'y' do not match any of the allowed "
                "destinations in project 'z'",
            ),
            (
                "appset-error",
                "unable to process file 'apps/a/config.json' from repository "
                "'https://git.example.com/x.git': unable to parse file: error unmarshaling "
                "JSON: while decoding JSON: json: cannot unmarshal string into Go value of "
                "type map[string]interface {}",
            ),
            (
                "appset-error",
                "scm provider not allowed: scm provider https://github.example.com not "
                "allowed; must use one of the following",
            ),
            (
                "appset-error",
                'error fetching Github token: error fetching secret argocd/gh: Secret "gh" not found',
            ),
            (
                "appset-error",
                'failed to parse template {{ .x | foo }}: template: :1: function "foo" not defined',
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        REPO_SERVER,
        (
            (
                "kustomize-build",
                "trouble configuring builtin HelmChartInflationGenerator with config: must "
                "specify --enable-helm",
            ),
            (
                "kustomize-build",
                "replace operation does not apply: doc is missing key: /spec/replicas: missing value",
            ),
            ("kustomize-build", "Error: failed to find unique target for patch apps_v1_Deployment|x"),
            (
                "kustomize-build",
                "Error: no matches for Id Deployment.v1.apps/x.[noNs]; failed to find unique "
                "target for patch Deployment.v1.apps/x.[noNs]",
            ),
            (
                "kustomize-build",
                "Error: merging from generator &{0xc00}: id resid.ResId{Gvk:resid.Gvk{}} "
                "exists; behavior must be merge or replace",
            ),
            (
                "kustomize-build",
                "Error: rawResources failed to read Resources: Load from path ../base failed",
            ),
            (
                "kustomize-build",
                'Error: couldn\'t execute function: exec: "ksops": executable file not found in $PATH',
            ),
            ("kustomize-build", 'Error: json: unknown field "transformers"'),
            (
                "kustomize-build",
                'Error: namespace transformation produces ID conflict: [{"apiVersion":"v1"}]',
            ),
            ("kustomize-build", "Error: security; file '/tmp/a/x.yaml' is not in or below '/tmp/a/b'"),
            (
                "kustomize-build",
                "Error: trouble configuring builtin PatchTransformer with config: unable to "
                "parse SM or JSON patch from",
            ),
            ("kustomize-build", "Error: couldn't find target apps/v1/Deployment/x for replacement"),
            ("kustomize-build", "Error: wrong node kind: expected MappingNode but got ScalarNode"),
            ("kustomize-build", "kustomize version v9.9.9 is not registered"),
            ("kustomize-build", "Error: fieldSpec 'field: metadata/annotations kind:' failed"),
            (
                "plugin",
                'plugin sidecar failed. couldn\'t find cmp-server plugin with name "avp" '
                "supporting the given repository",
            ),
            (
                "plugin",
                'error getting plugin "kustomized-helm": config management plugin with name '
                "'kustomized-helm' is not supported.",
            ),
            (
                "plugin",
                "plugin sidecar failed. error detecting cmp: rpc error: code = Unavailable "
                'desc = connection error: desc = "transport: Error while dialing: dial unix '
                '/home/argocd/cmp-server/plugins/avp.sock: connect: connection refused"',
            ),
            (
                "plugin",
                "plugin sidecar failed. error generating manifests in cmp: rpc error: code = "
                "Unknown desc = match repository error: error finding matching files: no files",
            ),
            (
                "plugin",
                "plugin sidecar failed. error generating manifests in cmp: rpc error: code = "
                "Unknown desc = generate error: unable to deserialize manifests: error "
                "unmarshaling YAML",
            ),
            (
                "plugin",
                "error getting sops file: Failed to get the data key required to decrypt the SOPS file",
            ),
            (
                "helm-render",
                "Error: values don't meet the specifications of the schema(s) in the following "
                "chart(s): app: - (root): Additional property x is not allowed",
            ),
            (
                "helm-render",
                "Error: cannot load values.yaml: error converting YAML to JSON: yaml: line 3: "
                "mapping values are not allowed in this context",
            ),
            ("helm-render", "Error: apiVersion 'v2' is not valid. The value must be \"v1\""),
            (
                "helm-render",
                "Error: chart requires kubeVersion: >=1.22.0-0 which is incompatible with Kubernetes v1.20.0",
            ),
            ("helm-render", "Error: failed to parse --set-file data: open x: no such file or directory"),
            ("helm-render", 'Error: failed parsing --set data: key "a" has no value'),
            ("helm-render", "Error: cannot load Chart.yaml: error converting YAML to JSON: yaml: line 2"),
            ("helm-render", "Error: Chart.yaml file is missing"),
            (
                "helm-render",
                "Error: YAML parse error on app/templates/x.yaml: error converting YAML to "
                "JSON: yaml: line 5: did not find expected key",
            ),
            ("helm-render", 'Error: parse error at (app/templates/x.yaml:5): function "foo" not defined'),
            (
                "helm-render",
                'error calling include: template: x:3:2: executing "x" at <fail "no">: error '
                "calling fail: no",
            ),
            ("helm-render", "Error: rendering template: unable to build kubernetes objects"),
            (
                "helm-render",
                "error resolving helm value files: error resolving value file path: values "
                "file ../../x.yaml resolved to outside repository root",
            ),
            (
                "revision-not-found",
                "failed to initialize repository resources: rpc error: code = Internal desc = "
                "Failed to checkout revision 4f2c9d1e: `git fetch origin 4f2c9d1e --tags "
                "--force --prune` failed exit status 128: error: Server does not allow request "
                "for unadvertised object 4f2c9d1e",
            ),
            (
                "repo-unreachable repo-auth",
                "failed to initialize repository resources: rpc error: code = Internal desc = "
                "Failed to checkout 2678262d622e: `git submodule update --init --recursive` "
                "failed exit status 1:",
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/x.git/info/refs?service=git-upload-pack": '
                "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
            ),
            ("repo-auth", "unknown error: remote: This deploy key does not have access to this project."),
            ("plugin", "couldn't find cmp-server plugin supporting repository"),
            ("plugin", "Failed to get the data key required to decrypt the SOPS file."),
            (
                "helm-dependency helm-render",
                "Error: error unpacking redis-17.3.2.tgz in web: gzip: invalid header",
            ),
            ("plugin", "multiple application sources defined: Kustomize,Plugin"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        "",
        (
            (
                "diff-schema-error",
                'error: unable to decode "/dev/shm/3": no kind "APIService" is registered for '
                'version "apiregistration.k8s.io/v1" in scheme '
                '"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:29"',
            ),
            ("appset-error", "ApplicationSet web contains applications with duplicate name: web"),
            (
                "plugin",
                "Unable to create application: application spec for x is invalid: "
                "InvalidSpecError: Unable to generate manifests in x: rpc error: code = "
                "Unknown desc = plugin sidecar failed. failed to detect CMP for app: could not "
                "find plugin supporting the given repository",
            ),
            ("plugin helm-render", 'Error: plugin "secrets" exited with error'),
            ("plugin", "AVP configuration error: Must provide a supported Vault Type"),
            ("plugin", "Error: could not find a secret at path kv/data/app"),
            ("kustomize-build", "Error: must specify --enable-helm"),
            (
                "kustomize-build",
                "Error: external plugins disabled; unable to load external plugin 'SopsSecretGenerator'",
            ),
            (
                "kustomize-build",
                "Error: unable to find plugin root - tried: ('<no value>'; homed in $KUSTOMIZE_PLUGIN_HOME)",
            ),
            ("helm-render", "Error: execution error at (app/templates/a.yaml:3:4): image.tag is required"),
        ),
    ),
    Group(
        Origin.OPERATION,
        "",
        APPLY,
        (
            (
                "finalizer-stuck",
                'error when replacing "/dev/shm/1": object is being deleted: '
                'customresourcedefinitions.apiextensions.k8s.io "widgets.example.com" already '
                "exists",
            ),
        ),
    ),
    Group(
        Origin.ARGOCD_LOG,
        "",
        "",
        (
            ("settings-malformed", "Unable to parse updated settings: server.secretkey is missing"),
            (
                "generation-timeout",
                "finished unary call with code Internal: rpc error: code = Internal desc = "
                "Failed to fetch git repo: `git fetch origin --tags --force` failed timeout "
                "after 1m30s",
            ),
            (
                "plugin",
                "finished unary call with code Unknown: Manifest generation error (cached): "
                "plugin sidecar failed. error generating manifests in cmp: error sending file "
                "to cmp-server: client stream context error: context canceled",
            ),
            (
                "operation-pinned",
                "rpc error: code = FailedPrecondition desc = another operation is already in progress",
            ),
            ("revision-not-found", "revision 4f2c9d1 must be resolved"),
            ("appset-error", "error listing branches for team/shop: 429 Too Many Requests"),
        ),
    ),
    Group(
        Origin.ARGOCD_LOG,
        "",
        "",
        (
            (
                "hydrator-failed",
                "Failed to hydrate app: failed to commit hydrated manifests: rpc error: code = Unknown "
                "desc = failed to clone repo: authentication required",
            ),
            (
                "cluster-unreachable",
                "Failed to sync cluster https://10.4.0.1:6443: error getting API resources: Get "
                '"https://10.4.0.1:6443/api": dial tcp 10.4.0.1:6443: i/o timeout',
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        "",
        (
            (
                "settings-malformed",
                "error getting resource overrides: error unmarshaling JSON: while decoding JSON: json: "
                "cannot unmarshal string into Go value of type map[string]v1alpha1.ResourceOverride",
            ),
        ),
    ),
)
