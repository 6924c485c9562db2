"""`argocd admin settings rbac can`: the same question in looser words.

Mirrors `checkPolicy` of `settings_rbac.go`, Argo CD 3.6.
"""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.argocd.rbac.decision import Asker, Decision, decide, is_project_subject
from whysync.argocd.rbac.policy import Policy, Request

_ALIASES: Final = {
    "account": "accounts", "app": "applications", "apps": "applications", "application": "applications",
    "cert": "certificates", "certs": "certificates", "certificate": "certificates", "cluster": "clusters",
    "extension": "extensions", "gpgkey": "gpgkeys", "key": "gpgkeys", "log": "logs", "proj": "projects",
    "projs": "projects", "project": "projects", "repo": "repositories", "repos": "repositories",
    "repository": "repositories",
}  # fmt: skip
_PROJECT_SCOPED: Final = ("applications", "applicationsets", "logs", "exec", "clusters", "repositories")
_ALL: Final = ("create", "get", "update", "delete")
_ACTIONS: Final = {
    "accounts": ("create", "update"),
    "applications": (*_ALL, "action", "override", "sync", "rollback"),
    "applicationsets": _ALL,
    "certificates": ("create", "get", "delete"),
    "clusters": _ALL,
    "extensions": ("invoke",),
    "gpgkeys": ("create", "get", "delete"),
    "logs": ("get",),
    "exec": ("create",),
    "projects": _ALL,
    "repositories": _ALL,
}
_ACTIONS_WITH_PATH: Final = ("update", "delete", "action")
"""Actions on Applications that may name one kind of resource: `update/apps/Deployment/…`."""


class CanAnswer(msgspec.Struct, frozen=True, kw_only=True):
    decision: Decision
    warning: str | None


def can(policy: Policy, subject: str, action: str, resource: str, target: str) -> CanAnswer:
    """A resource may have a short name; no object of a project means all of them."""
    resource = resource_name(resource)
    if resource in _PROJECT_SCOPED and target in ("", "*"):
        target = "*/*"
    request = Request(resource=resource, action=action, object=target)
    decision = decide(policy, Asker(subject=subject), request)
    return CanAnswer(
        decision=decision, warning=group_warning(policy, subject, request) if decision.allowed else None
    )


def group_warning(policy: Policy, subject: str, request: Request) -> str | None:
    """Lines for a group count only once some `g` line names the group: the API server asks no other."""
    bound = any(grant.member == subject for grant in policy.grants)
    if not is_group_subject(subject) or bound or not policy.answer(subject, request).allowed:
        return None
    return (
        f'the group "{subject}" has lines of its own and no role: Argo CD never looks at them; '
        f"bind it with 'g, {subject}, role:…'"
    )


def is_group_subject(subject: str) -> bool:
    """`org:team` looks like a group of a login provider; roles and users of Argo CD do not."""
    return ":" in subject and not subject.startswith("role:") and not is_project_subject(subject)


def resource_name(name: str) -> str:
    return _ALIASES.get(name, name)


def request_problem(resource: str, action: str) -> str | None:
    """Mirrors `validateRBACResourceAction`."""
    actions = _ACTIONS.get(resource)
    if actions is None:
        return f"'{resource}' is not a valid resource name"
    verb, slash, _ = action.partition("/")
    with_path = resource == "applications" and verb in _ACTIONS_WITH_PATH
    if verb not in actions or (slash and not with_path):
        return f"'{action}' is not a valid action for {resource}"
    return None
