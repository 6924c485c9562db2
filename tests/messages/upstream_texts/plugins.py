"""Texts of config management plugins."""

from __future__ import annotations

from tests.messages.upstream_texts.group import REPO_SERVER, Group
from whysync.messages.pasted import Origin

CACHED = REPO_SERVER + ("Manifest generation error (cached): ")
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

GROUPS: tuple[Group, ...] = (
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
)
