"""Texts of the repo-server itself."""

from __future__ import annotations

from tests.messages.upstream_texts.group import REPO_SERVER, Group
from whysync.messages.pasted import Origin

GROUPS: tuple[Group, ...] = (
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
)
