"""The smallest Role and binding that permit what Kubernetes RBAC refused."""

from __future__ import annotations

from collections import defaultdict

from whysync.diagnosis.symptom import SymptomKind
from whysync.json_tree import Json, Object
from whysync.messages.patterns.rbac import Forbidden
from whysync.queries.group_failures import FailureGroup

_READING = ("get", "list", "watch")
_MANAGING = ("get", "list", "watch", "create", "update", "patch", "delete")
ROLE_NAME = "argocd-needs"


def service_account(user: str) -> tuple[str, str] | None:
    parts = user.split(":")
    return (parts[2], parts[3]) if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4 else None


def is_cluster_wide(failure: Forbidden) -> bool:
    return failure.cluster_scope or not failure.namespace


def _meta(failure: Forbidden) -> Object:
    return (
        {"name": ROLE_NAME}
        if is_cluster_wide(failure)
        else {"name": ROLE_NAME, "namespace": failure.namespace}
    )


def role_for(group: FailureGroup[Forbidden]) -> Object:
    """The Role with one rule per resource.

    Argo CD's cache needs get, list and watch together. A sync that cannot write an object needs all verbs of
    a managed one: the next change needs patch, a replacement update, a prune delete.
    """
    verbs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for report in group.reports:
        failure = report.failure
        applied = failure.verb in _MANAGING and any(id.kind is SymptomKind.RESULT for id in report.symptoms)
        wanted = _MANAGING if applied else _READING if failure.verb in ("list", "watch") else (failure.verb,)
        verbs[failure.group, failure.resource] += [verb for verb in (failure.verb, *wanted) if verb]
    rules: list[Json] = [
        {"apiGroups": [api_group], "resources": [resource], "verbs": list(dict.fromkeys(wanted))}
        for (api_group, resource), wanted in verbs.items()
        if resource
    ]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole" if is_cluster_wide(group.failure) else "Role",
        "metadata": _meta(group.failure),
        "rules": rules,
    }


def binding_for(failure: Forbidden) -> Object:
    account = service_account(failure.user)
    subject: Object = (
        {"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}
        if account
        else {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": failure.user or "USER"}
    )
    wide = is_cluster_wide(failure)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding" if wide else "RoleBinding",
        "metadata": _meta(failure),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole" if wide else "Role",
            "name": ROLE_NAME,
        },
        "subjects": [subject],
    }
