"""Errors of Git, Helm, Kustomize, registries and plugins, copied without the words in front."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.CONDITION,
        "ComparisonError",
        "",
        (
            (
                "helm-render",
                "Error: execution error at (web/templates/deployment.yaml:5:4): A valid .Values.image is "
                "required",
            ),
            (
                "helm-render",
                'Error: template: web/templates/_helpers.tpl:12:20: executing "web.labels" at <include '
                '"common.labels" .>: error calling include: template: no template "common.labels" '
                'associated with template "gotpl"',
            ),
            (
                "helm-render",
                'Error: web/templates/ingress.yaml:8:14: executing "web/templates/ingress.yaml" at '
                "<index .Values.hosts 0>: error calling index: reflect: slice index out of range",
            ),
            (
                "helm-render",
                'Error: parse error at (web/templates/a.yaml:3): function "toToml2" not defined',
            ),
            (
                "helm-render",
                "Error: parse error at (web/templates/a.yaml:3): unclosed action started at "
                "web/templates/a.yaml:2",
            ),
            (
                "helm-render",
                "Error: YAML parse error on web/templates/a.yaml: error converting YAML to JSON: yaml: "
                "line 7: found character that cannot start any token",
            ),
            (
                "helm-render",
                "Error: values don't meet the specifications of the schema(s) in the following "
                "chart(s):\nweb:\n- (root): Additional property foo is not allowed",
            ),
            (
                "helm-render",
                "Error: cannot load values.yaml: error converting YAML to JSON: yaml: line 3: did not "
                "find expected key",
            ),
            (
                "helm-render",
                'Error: failed parsing --set-string data: key "a" has no value',
            ),
            (
                "helm-render",
                "Error: failed parsing --set data: unable to parse key: interface conversion: interface "
                "{} is string, not map[string]interface {}",
            ),
            (
                "helm-render",
                'Error: unable to build kubernetes objects from release manifest: error validating "": '
                "error validating data: apiVersion not set",
            ),
            (
                "helm-render",
                "Error: chart requires kubeVersion: >=1.30.0-0 which is incompatible with Kubernetes v1.29.0",
            ),
            (
                "helm-render",
                "Error: validation: chart.metadata.version is required",
            ),
            (
                "helm-render",
                "Error: validation: chart.metadata.apiVersion is required",
            ),
            (
                "helm-render",
                "Error: Chart.yaml file is missing",
            ),
            (
                "helm-render",
                'Error: template: web/templates/s.yaml:2:12: executing "web/templates/s.yaml" at '
                "<fromYaml>: wrong number of args for fromYaml: want 1 got 0",
            ),
            (
                "helm-render",
                "Error: rendered manifests contain a resource that already exists",
            ),
            (
                "helm-render",
                "Error: execution error at (web/charts/redis/templates/secret.yaml:1:3): \nPASSWORDS "
                "ERROR: You must provide your current passwords when upgrading the release.",
            ),
            (
                "helm-render",
                'Error: template: web/templates/x.yaml:1:3: executing "web/templates/x.yaml" at <lookup '
                '"v1" "Secret" "web" "db">: error calling lookup: unable to get resource',
            ),
            (
                "helm-render",
                "Error: open /tmp/x/values-prod.yaml: no such file or directory",
            ),
            (
                "helm-render",
                'Error: plugin "secrets" exited with error',
            ),
            (
                "helm-render",
                "Error: stack overflow in template",
            ),
            (
                "helm-render",
                "Error: cannot overwrite table with non table for web.resources (map[])",
            ),
            (
                "helm-dependency helm-render",
                "Error: An error occurred while checking for chart dependencies. You may need to run "
                "`helm dependency build` to fetch missing dependencies: found in Chart.yaml, but missing "
                "in charts/ directory: redis",
            ),
            (
                "helm-dependency",
                "Error: no repository definition for https://charts.example.com. Please add the missing "
                "repos via 'helm repo add'",
            ),
            (
                "helm-dependency",
                "Error: the lock file (Chart.lock) is out of sync with the dependencies file "
                "(Chart.yaml). Please update the dependencies",
            ),
            (
                "helm-dependency",
                "Error: can't get a valid version for repositories redis. Try changing the version "
                "constraint in Chart.yaml",
            ),
            (
                "helm-dependency",
                "Error: could not find protocol handler for: git",
            ),
            (
                "helm-dependency repo-auth repo-unreachable tls-trust",
                "Error: failed to fetch https://charts.example.com/index.yaml : 403 Forbidden",
            ),
            (
                "helm-dependency repo-auth repo-unreachable tls-trust",
                "Error: could not download oci://registry.example.com/charts/redis: failed to authorize: "
                "failed to fetch oauth token: unexpected status: 401 Unauthorized",
            ),
            (
                "helm-dependency repo-auth repo-unreachable tls-trust",
                'Error: looks like "https://charts.example.com" is not a valid chart repository or '
                'cannot be reached: Get "https://charts.example.com/index.yaml": dial tcp: lookup '
                "charts.example.com on 10.96.0.10:53: no such host",
            ),
            (
                "helm-dependency repo-auth repo-unreachable tls-trust",
                'Error: Get "https://charts.example.com/index.yaml": tls: failed to verify certificate: '
                "x509: certificate signed by unknown authority",
            ),
            (
                "repo-auth",
                'Error: looks like "https://charts.example.com" is not a valid chart repository or '
                "cannot be reached: failed to fetch https://charts.example.com/index.yaml : 401 "
                "Unauthorized",
            ),
            (
                "repo-unreachable revision-not-found",
                'Error: looks like "https://charts.example.com" is not a valid chart repository or '
                "cannot be reached: failed to fetch https://charts.example.com/index.yaml : 404 Not Found",
            ),
            (
                "repo-unreachable revision-not-found",
                "Error: failed to fetch https://charts.example.com/web-1.2.3.tgz : 404 Not Found",
            ),
            (
                "revision-not-found",
                'Error: chart "web" version "1.2.3" not found in https://charts.example.com repository',
            ),
            (
                "repo-unreachable",
                'Error: Get "https://charts.example.com/index.yaml": context deadline exceeded '
                "(Client.Timeout exceeded while awaiting headers)",
            ),
            (
                "repo-unreachable",
                'Error: Get "https://charts.example.com/index.yaml": read tcp 10.1.1.1:4->1.2.3.4:443: '
                "read: connection reset by peer",
            ),
            (
                "repo-unreachable",
                'Error: Get "https://charts.example.com/index.yaml": proxyconnect tcp: dial tcp '
                "10.0.0.1:3128: connect: connection refused",
            ),
            (
                "tls-trust",
                'Error: Get "https://charts.example.com/index.yaml": tls: failed to verify certificate: '
                "x509: certificate is valid for a.example.com, not charts.example.com",
            ),
            (
                "kustomize-build",
                "Error: accumulating resources: accumulation err='accumulating resources from 'a.yaml': "
                "may not add resource with an already registered id: Deployment.v1.apps/web.[noNs]': "
                "must build at directory: '/tmp/x/a.yaml': file is not directory",
            ),
            (
                "kustomize-build",
                'Error: invalid Kustomization: json: unknown field "patchStrategicMerge"',
            ),
            (
                "kustomize-build",
                "Error: unable to find one of 'kustomization.yaml', 'kustomization.yml' or "
                "'Kustomization' in directory '/tmp/x'",
            ),
            (
                "kustomize-build",
                "Error: security; file '/tmp/base/a.yaml' is not in or below '/tmp/overlays/prod'",
            ),
            (
                "kustomize-build",
                "Error: trouble configuring builtin PatchTransformer with config: `\npath: p.yaml\n`: "
                "unable to parse SM or JSON patch from [p.yaml]",
            ),
            (
                "kustomize-build",
                "Error: loading KV pairs: file sources: [a.txt]: evalsymlink failure on '/tmp/x/a.txt' : "
                "lstat /tmp/x/a.txt: no such file or directory",
            ),
            (
                "kustomize-build",
                'Error: merging from generator &{0xc0 <nil>}: id resid.ResId{Gvk:resid.Gvk{Version:"v1", '
                'Kind:"ConfigMap"}, Name:"c"} does not exist; cannot merge or replace',
            ),
            (
                "kustomize-build",
                'Error: namespace transformation produces ID conflict: [{"apiVersion":"v1"}]',
            ),
            (
                "kustomize-build",
                "Error: must specify --enable-helm",
            ),
            (
                "kustomize-build",
                "Error: trouble pulling chart: unable to run: 'helm pull --untar' with env=[]: 'exit "
                "status 1'",
            ),
            (
                "kustomize-build",
                "Error: recursed accumulation of path '/tmp/x/base': accumulating resources: missing "
                "Resource metadata",
            ),
            (
                "kustomize-build",
                'Error: replacements: unable to find field "spec.x" in replacement target',
            ),
            (
                "kustomize-build",
                "Error: nothing selected by ConfigMap.[noVer].[noGrp]/c.[noNs]:data.a",
            ),
            (
                "kustomize-build",
                "Error: accumulating components: accumulateDirectory: \"couldn't make target for path: "
                'invalid Kustomization: kind should be Component"',
            ),
            (
                "kustomize-build",
                "Error: hit 27s timeout running '/usr/bin/git fetch --depth=1 https://github.com/x/y v1'",
            ),
            (
                "kustomize-build",
                "Error: unable to load plugin Foo: external plugins disabled; unable to load external "
                "plugin 'Foo'",
            ),
            (
                "kustomize-build",
                "Error: cycle detected: candidate root '/tmp/x' contains visited root '/tmp/x/y'",
            ),
            (
                "kustomize-build",
                'Error: add operation does not apply: doc is missing path: "/spec/x": missing value',
            ),
            (
                "repo-auth",
                "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
            ),
            (
                "repo-auth",
                "remote: Invalid username or token. Password authentication is not supported for Git "
                "operations.\nfatal: Authentication failed for 'https://github.com/x/y/'",
            ),
            (
                "repo-auth",
                "remote: HTTP Basic: Access denied. The provided password or token is incorrect\nfatal: "
                "Authentication failed",
            ),
            (
                "repo-auth",
                "git@github.com: Permission denied (publickey).\nfatal: Could not read from remote "
                "repository.",
            ),
            (
                "repo-auth",
                "ERROR: The key you are authenticating with has been marked as read only.",
            ),
            (
                "repo-auth",
                "fatal: unable to access 'https://git.example.com/x/': The requested URL returned error: 403",
            ),
            (
                "repo-auth",
                "remote: The 'acme' organization has enabled or enforced SAML SSO.",
            ),
            (
                "repo-unreachable repo-auth",
                "remote: Repository not found.\nfatal: repository 'https://github.com/x/y/' not found",
            ),
            (
                "repo-unreachable repo-auth",
                "ERROR: Repository not found.\nfatal: Could not read from remote repository.",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/x/': Could not resolve host: "
                "git.example.com",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/x/': Failed to connect to "
                "git.example.com port 443 after 130 ms: Connection refused",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/x/': The requested URL returned error: 503",
            ),
            (
                "repo-unreachable",
                "fatal: the remote end hung up unexpectedly",
            ),
            (
                "repo-unreachable",
                "RPC failed; curl 56 GnuTLS recv error (-54): Error in the pull function.",
            ),
            (
                "repo-unreachable",
                "ssh: connect to host git.example.com port 22: Connection timed out\nfatal: Could not "
                "read from remote repository.",
            ),
            (
                "repo-unreachable",
                "fatal: early EOF\nfatal: fetch-pack: invalid index-pack output",
            ),
            (
                "repo-unreachable",
                "kex_exchange_identification: Connection closed by remote host",
            ),
            (
                "repo-unreachable",
                "fatal: unable to access 'https://git.example.com/x/': Received HTTP code 407 from proxy "
                "after CONNECT",
            ),
            (
                "tls-trust",
                "fatal: unable to access 'https://git.example.com/x/': SSL certificate problem: "
                "self-signed certificate in certificate chain",
            ),
            (
                "tls-trust",
                "fatal: unable to access 'https://git.example.com/x/': server certificate verification "
                "failed. CAfile: none CRLfile: none",
            ),
            (
                "tls-trust",
                "fatal: unable to access 'https://git.example.com/x/': SSL: no alternative certificate "
                "subject name matches target host name 'git.example.com'",
            ),
            (
                "tls-trust",
                "No ED25519 host key is known for git.example.com and you have requested strict "
                "checking.\nHost key verification failed.",
            ),
            (
                "tls-trust",
                "@@@@@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key "
                "verification failed.",
            ),
            (
                "revision-not-found",
                "fatal: couldn't find remote ref refs/heads/nope",
            ),
            (
                "revision-not-found",
                "fatal: remote error: upload-pack: not our ref 4f1c2a9e",
            ),
            (
                "repo-server-down argocd-disk-full",
                "fatal: write error: No space left on device",
            ),
            (
                "repo-server-down argocd-disk-full",
                "fatal: Unable to create '/tmp/_argocd-repo/1/.git/index.lock': File exists.",
            ),
            (
                "repo-server-down argocd-disk-full",
                "fatal: detected dubious ownership in repository at '/tmp/_argocd-repo/1'",
            ),
            (
                "repo-server-down argocd-disk-full",
                "cannot lock ref 'refs/remotes/origin/a': 'refs/remotes/origin/a/b' exists; cannot "
                "create 'refs/remotes/origin/a'",
            ),
            (
                "repo-server-down argocd-disk-full",
                "fatal: loose object 1 is corrupt",
            ),
            (
                "repo-auth",
                "authentication required",
            ),
            (
                "repo-auth",
                "authorization failed",
            ),
            (
                "repo-auth",
                "invalid credentials",
            ),
            (
                "repo-auth",
                "ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], "
                "no supported methods remain",
            ),
            (
                "repo-auth",
                'error creating SSH agent: "SSH agent requested but SSH_AUTH_SOCK not-specified"',
            ),
            (
                "repo-auth",
                "ssh: this private key is passphrase protected",
            ),
            (
                "repo-auth",
                "ssh: no key found",
            ),
            (
                "repo-auth repo-unreachable",
                "repository not found",
            ),
            (
                "tls-trust",
                "ssh: handshake failed: knownhosts: key is unknown",
            ),
            (
                "tls-trust",
                "ssh: handshake failed: knownhosts: key mismatch",
            ),
            (
                "tls-trust",
                'Get "https://git.example.com/info/refs?service=git-upload-pack": tls: failed to verify '
                "certificate: x509: certificate has expired or is not yet valid: current time "
                "2026-01-01T00:00:00Z is after 2025-01-01T00:00:00Z",
            ),
            (
                "repo-unreachable",
                'Get "https://git.example.com/info/refs?service=git-upload-pack": dial tcp: lookup '
                "git.example.com on 10.96.0.10:53: server misbehaving",
            ),
            (
                "repo-unreachable",
                "dial tcp 1.2.3.4:22: i/o timeout",
            ),
            (
                "repo-unreachable",
                "remote repository is empty",
            ),
            (
                "repo-unreachable",
                "unexpected client error: unexpected requesting "
                '"https://git.example.com/info/refs?service=git-upload-pack" status code: 500',
            ),
            (
                "repo-unreachable",
                'unsupported scheme "git+ssh"',
            ),
            (
                "repo-unreachable",
                "ssh: handshake failed: EOF",
            ),
            (
                "repo-unreachable",
                "empty git-upload-pack given",
            ),
            (
                "revision-not-found",
                "Unable to resolve 'v9' to a commit SHA",
            ),
            (
                "revision-not-found",
                "revision HEAD must be resolved",
            ),
            (
                "path-not-found",
                "app path does not exist",
            ),
            (
                "path-not-found",
                "app/web: app path does not exist",
            ),
            (
                "path-not-found",
                "app path is not a directory",
            ),
            (
                "invalid-yaml",
                'Failed to unmarshal "a.yaml": failed to unmarshal manifest: error unmarshaling JSON: '
                "while decoding JSON: Object 'Kind' is missing in '{\"a\":1}'",
            ),
            (
                "invalid-yaml",
                'Failed to unmarshal "a.yaml": error converting YAML to JSON: yaml: line 3: mapping '
                "values are not allowed in this context",
            ),
            (
                "invalid-yaml",
                "failed to unmarshal manifest: error converting YAML to JSON: yaml: control characters "
                "are not allowed",
            ),
            (
                "jsonnet",
                'failed to evaluate jsonnet "main.jsonnet": RUNTIME ERROR: couldn\'t open import '
                '"k.libsonnet": no match locally or in the Jsonnet library paths',
            ),
            (
                "jsonnet",
                'failed to evaluate jsonnet "main.jsonnet": main.jsonnet:3:1-4 Unknown variable: foo',
            ),
            (
                "generation-timeout",
                "context deadline exceeded",
            ),
            (
                "repo-server-down",
                "fork/exec /usr/local/bin/helm: cannot allocate memory",
            ),
            (
                "plugin",
                "could not find plugin supporting the given repository",
            ),
            (
                "plugin",
                "sh: jq: not found",
            ),
            (
                "plugin",
                "error detecting config management plugin: no config management plugin found",
            ),
            (
                "plugin",
                'could not find config management plugin "tk"',
            ),
            (
                "helm-render",
                "coalesce.go:175: warning: skipped value for web.a: Not a table.\nError: unable to parse "
                "chart",
            ),
            (
                "cluster-unreachable",
                'Get "https://10.0.0.1:6443/version?timeout=32s": dial tcp 10.0.0.1:6443: connect: no '
                "route to host",
            ),
            (
                "cluster-unreachable",
                "the server is currently unable to handle the request",
            ),
            (
                "cluster-unreachable",
                "failed to list resources: etcdserver: request timed out",
            ),
            (
                "cluster-auth",
                "Unauthorized",
            ),
            (
                "cluster-auth",
                "error getting credentials: exec: executable argocd-k8s-auth failed with exit code 20",
            ),
            (
                "cluster-auth",
                "the server has asked for the client to provide credentials",
            ),
            (
                "k8s-rbac",
                'failed to list resources: secrets is forbidden: User "system:serviceaccount:argocd:x" '
                'cannot list resource "secrets" in API group "" at the cluster scope',
            ),
            (
                "conversion-webhook-failed",
                "conversion webhook for example.com/v1, Kind=Foo failed: Post "
                '"https://a.b.svc:443/convert?timeout=30s": no endpoints available for service "a"',
            ),
            (
                "tls-trust cluster-unreachable cluster-auth",
                'Get "https://10.0.0.1/version": tls: failed to verify certificate: x509: certificate '
                "signed by unknown authority",
            ),
            (
                "namespace-not-managed",
                'namespace "web" for Deployment "web" is not managed',
            ),
            (
                "diff-schema-error schema-invalid",
                "error building typed value from config resource: "
                '.spec.template.spec.containers[name="web"].foo: field not declared in schema',
            ),
            (
                "diff-schema-error schema-invalid",
                "error building typed value from live resource: errors: .spec.ports: duplicate entries "
                'for key [port=80,protocol="TCP"]',
            ),
        ),
    ),
)
