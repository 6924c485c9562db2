"""Texts without the wrappers of Argo CD, of old releases or copied in part, and structured log lines."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from tests.messages.upstream_texts.plugins import CACHED, PLUGIN_SIDECAR
from whysync.messages.pasted import Origin

GROUPS: tuple[Group, ...] = (
    # Texts without the wrappers of Argo CD: of old releases, of the UI, or copied in part.
    Group(
        Origin.CONDITION,
        "ComparisonError",
        "",
        (
            (
                "kustomize-build",
                "error: add operation does not apply: doc is missing path: "
                '"/spec/template/spec/containers/0/args/-": missing value',
            ),
            (
                "kustomize-build",
                "error: remove operation does not apply: error in remove for path: '/spec/replicas': "
                "Unable to remove nonexistent key: replicas: missing value",
            ),
            ("kustomize-build", "error: testing value /spec/replicas failed: test failed"),
            (
                "helm-render",
                "failed exit status 1: Error: template: at <.Values.extra>: wrong type for value; "
                "expected map[string]interface {}; got interface {}",
            ),
            ("helm-render", "failed exit status 1: Error: Use --debug flag to render out invalid YAML"),
            (
                "invalid-yaml",
                "failed to unmarshal manifest: error unmarshaling JSON: while decoding JSON: "
                "Object 'Kind' is missing",
            ),
            (
                "invalid-yaml",
                "failed to unmarshal manifest: error converting YAML to JSON: yaml: line 9: mapping "
                "values are not allowed in this context",
            ),
            ("plugin", "Must provide a supported Vault Type, received"),
            ("plugin", "Must provide a supported Authentication Type, received oidc"),
            (
                "plugin",
                "/usr/local/bin/helmfile --no-color --namespace web repos Adding repo web "
                'https://charts.example.com in ./helmfile.yaml: command "/usr/local/bin/helm" exited with '
                "non-zero status: PATH: /usr/local/bin/helm ARGS: 0: /usr/local/bin/helm (19 bytes) "
                "ERROR: exit status 1 STDERR: Error: context deadline exceeded",
            ),
            (
                "repo-auth",
                "ssh-rsa is about to be deprecated and your request has been throttled. Please use "
                "rsa-sha2-256 or rsa-sha2-512 instead.",
            ),
            (
                "repo-auth",
                "You're using an RSA key with SHA-1, which is no longer allowed. Please use a newer client "
                "or a different key type.",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        CACHED,
        (
            (
                "kustomize-build",
                "failed to load kustomization.yaml: open <path to cached source>/web/kustomization.yaml: "
                "no such file or directory",
            ),
            (
                "path-not-found helm-render",
                "open <path to cached source>/web/config.yaml: no such file or directory",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "InvalidSpecError",
        PLUGIN_SIDECAR,
        (
            (
                "plugin",
                "starting init in ./helmfile.yaml: error during helmfile.yaml.part.0 parsing: template: "
                'stringTemplate:3:10: executing "stringTemplate" at <fetchSecretValue "ref+k8s://v1/x">: '
                "error calling fetchSecretValue: no kubeconfig",
            ),
            (
                "helm-render",
                'Error: template: web/templates/a.yaml:3:10: executing "web/templates/a.yaml" at '
                "<.Values.x.y>: nil pointer evaluating interface {}.y",
            ),
        ),
    ),
    Group(
        Origin.ARGOCD_LOG,
        "",
        "",
        (
            (
                "repo-unreachable",
                'time="2024-03-02T15:01:34Z" level=error msg="finished unary call with code Unknown" '
                'error="unexpected client error: unexpected requesting '
                '\\"https://git.example.com/web/info/refs?service=git-upload-pack\\" status code: 301" '
                "grpc.code=Unknown grpc.method=Create grpc.service=repository.RepositoryService",
            ),
            (
                "repo-unreachable",
                'level=error msg="finished unary call with code Unknown" error="words that nobody knows" '
                "grpc.code=Unknown grpc.method=ValidateAccess grpc.service=repository.RepositoryService",
            ),
            (
                "argocd-rbac",
                'level=error msg="finished unary call with code PermissionDenied" error="rpc error: code = '
                "PermissionDenied desc = permission denied: repositories, create, "
                'https://git.example.com/web.git, sub: jane" '
                "grpc.code=PermissionDenied grpc.service=repository.RepositoryService",
            ),
            (
                "argocd-rbac",
                "Unable to connect HTTPS repository: permission denied: repositories, "
                "create,https://git.example.com/web.git, sub: jane, iat: 2024-03-19T18:31:49Z.",
            ),
            (
                "plugin",
                'level=error msg="finished streaming call with code Unknown" error="error generating '
                'manifests: fork/exec /bin/sh: exec format error" grpc.code=Unknown '
                "grpc.method=GenerateManifest grpc.service=plugin.ConfigManagementPluginService",
            ),
            (
                "plugin",
                'level=error msg="repository /tmp/_argocd-repo/a396feca/web is not the match because error '
                'sending stream: no files to send" CWE=775 security=2',
            ),
            (
                "plugin",
                'level=fatal msg="invalid plugin configuration file. spec.generate command should be '
                'non-empty"',
            ),
            ("argocd-cache-down", "NOAUTH Authentication required"),
            (
                "argocd-cache-down",
                '{"error":"failed to list refs: NOAUTH Authentication required.","grpc.code":"Unknown",'
                '"grpc.method":"GenerateManifest","level":"error","msg":"finished unary call with code Unk',
            ),
            ("argocd-cache-down", "Unable to load data: key is missing"),
            ("settings-malformed", 'level=fatal msg="malformed Dex configuration found"'),
            (
                "settings-malformed",
                'level=fatal msg="failed to unmarshal dex.config from configmap: yaml: line 3: did not find '
                'expected key"',
            ),
            (
                "repo-server-down",
                'level=fatal msg="failed to initialize the repo service: mkdir /tmp/_argocd-repo: permission '
                'denied"',
            ),
            ("invalid-yaml", 'unmarshal errors: line 4: mapping key "image" already defined at line 2'),
            (
                "schema-invalid",
                'level=fatal msg="rpc error: code = Unknown desc = status.sync.comparedTo.source.path in '
                'body is required"',
            ),
        ),
    ),
)
