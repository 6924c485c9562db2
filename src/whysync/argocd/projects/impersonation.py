"""The service account that a sync and a server-side diff impersonate.

Mirrors `DeriveServiceAccountToImpersonate` and `applyDiffImpersonationConfig`, Argo CD 3.6.
"""

from __future__ import annotations

from whysync.argocd.api.project import AppProject
from whysync.argocd.projects.permissions import Cluster
from whysync.golang.glob import BadPattern, glob_match_or_raise

BAD_IN_SERVICE_ACCOUNTS = "!*[]{}\\/"


class NoServiceAccount(ValueError):
    """No service account can be impersonated; with Argo CD's message."""


def service_account_for(
    project: AppProject, *, app_namespace: str, destination_namespace: str, cluster: Cluster
) -> str:
    """The user of the first entry that matches the destination; empty if none matches."""
    for item in project.spec.destination_service_accounts:
        server = _matches(item.server, cluster.server, "server")
        namespace = _matches(item.namespace, destination_namespace, "namespace")
        if not (server and namespace):
            continue
        account = item.default_service_account
        if not account.strip(" ") or any(char in account for char in BAD_IN_SERVICE_ACCOUNTS):
            raise NoServiceAccount(f"default service account contains invalid chars '{account}'")
        if ":" in account:  # includes its namespace
            return f"system:serviceaccount:{account}"
        return f"system:serviceaccount:{destination_namespace or app_namespace}:{account}"
    return ""


def _matches(pattern: str, value: str, field: str) -> bool:
    try:
        return glob_match_or_raise(pattern, value)
    except BadPattern as problem:
        raise NoServiceAccount(f"invalid glob pattern for destination {field}: {problem}") from problem
