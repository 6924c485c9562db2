"""Validation of an AppProject; only the first problem is reported.

Mirrors `ValidateProject`, Argo CD 3.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whysync.argocd.api.project import AppProject, ProjectRole
from whysync.argocd.projects.permissions import Cluster
from whysync.golang.glob import BadPattern, glob_match_or_raise

_ACTIONS = ("get", "create", "update", "delete", "sync", "override", "rollback", "*")
_ACTION_PATTERN = r"action/|update/|delete/"
_PROJECT_SCOPED = ("applications", "applicationsets", "logs", "exec", "clusters", "repositories")
_ROLE_NAME = r"[a-zA-Z0-9]([-_a-zA-Z0-9]*[a-zA-Z0-9])?"
_BAD_IN_GROUPS = r'["\n\r\t]'


def project_problem(project: AppProject) -> str | None:
    """Argo CD's message for the first problem.

    Differs: the schedule and duration of a sync window are not checked. Only Argo CD's API server rejects
    them; the rule `sync_window_without_effect` reports them.
    """
    problems = (
        _destination_problems(project),
        _list_problems(project),
        _role_problems(project),
        _window_problems(project),
        _service_account_problems(project),
    )
    return next((problem for kind in problems for problem in kind), None)


def _destination_problems(project: AppProject) -> Iterator[str]:
    seen: set[str] = set()
    for item in project.spec.destinations:
        for name, value in (("name", item.name), ("server", item.server), ("namespace", item.namespace)):
            if value == "!*":
                yield f"{name} has an invalid format, '!*'"
        key = f"{item.server or item.name}/{item.namespace}"
        if key in seen:
            yield f"destination '{key}' already added"
        seen.add(key)


def _list_problems(project: AppProject) -> Iterator[str]:
    seen: set[str] = set()
    for namespace in project.spec.source_namespaces:
        if namespace in seen:
            yield f"source namespace '{namespace}' already added"
        seen.add(namespace)
    seen = set()
    for repo in project.spec.source_repos:
        if repo == "!*":
            yield "source repository has an invalid format, '!*'"
        if repo in seen:
            yield f"source repository '{repo}' already added"
        seen.add(repo)


def _role_problems(project: AppProject) -> Iterator[str]:
    seen: set[str] = set()
    for role in project.spec.roles:
        if role.name in seen:
            yield f"role '{role.name}' already exists"
        seen.add(role.name)
        if not re.fullmatch(_ROLE_NAME, role.name):
            yield (
                f"invalid role name '{role.name}'. Must consist of alphanumeric characters, '-' or '_', "
                "and must start and end with an alphanumeric character"
            )
        yield from _within_role(project.metadata.name, role)


def _within_role(project: str, role: ProjectRole) -> Iterator[str]:
    seen: set[str] = set()
    for policy in role.policies:
        if policy in seen:
            yield f"policy '{policy}' already exists for role '{role.name}'"
        seen.add(policy)
        if problem := policy_problem(project, role.name, policy):
            yield problem
    seen = set()
    for group in role.groups:
        if group in seen:
            yield f"group '{group}' already exists for role '{role.name}'"
        seen.add(group)
        if problem := group_problem(group):
            yield problem


def policy_problem(project: str, role: str, policy: str) -> str | None:
    """The problem of one line of a role's policy."""
    terms = [field.strip(" ") for field in policy.split(",")]
    prefix = f"invalid policy rule '{policy}': "
    if len(terms) != 6 or terms[0] != "p":
        return f"{prefix}must be of the form: 'p, sub, res, act, obj, eft'"
    _, subject, resource, action, target, effect = terms
    expected = f"proj:{project}:{role}"
    if subject != expected:
        return f"{prefix}policy subject must be: '{expected}', not '{subject}'"
    if resource not in _PROJECT_SCOPED:
        return (
            f"{prefix}project resource must be: 'applications', 'applicationsets', 'repositories', 'exec', "
            f"'logs' or 'clusters', not '{resource}'"
        )
    if not is_role_action(action):
        return f"{prefix}invalid action '{action}'"
    if not is_policy_object(project, target):
        return (
            f"{prefix}object must be of form '{project}/*', '{project}[/<NAMESPACE>]/<APPNAME>' or "
            f"'{project}/<APPNAME>', not '{target}'"
        )
    if effect not in ("allow", "deny"):
        return f"{prefix}effect must be: 'allow' or 'deny'"
    return None


def is_role_action(action: str) -> bool:
    return action in _ACTIONS or re.search(_ACTION_PATTERN, action) is not None


def is_policy_object(project: str, target: str) -> bool:
    """`<project>[/<namespace>]/<application>`, with `*` anywhere in the last two."""
    return re.fullmatch(rf"{re.escape(project)}(/[*\w\-.]+)?/[*\w\-.]+", target, re.ASCII) is not None


def group_problem(group: str) -> str | None:
    name = group.strip()
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        name = name[1:-1]
    elif "," in name:
        return f"group '{name}' must be quoted"
    if not name:
        return f"group '{name}' is empty"
    if re.search(_BAD_IN_GROUPS, name):
        return f"group '{name}' contains invalid characters"
    if len(group) > 1 and group[0].isspace():
        return f"group '{name}' contains a leading space"
    if len(group) > 1 and group[-1].isspace():
        return f"group '{name}' contains a trailing space"
    return None


def _window_problems(project: AppProject) -> Iterator[str]:
    for window in project.spec.sync_windows:
        if not (window.applications or window.namespaces or window.clusters):
            window_text = f"window '{window.kind}':'{window.schedule}':'{window.duration}'"
            yield f"{window_text} requires one of application, cluster or namespace"


def _service_account_problems(project: AppProject) -> Iterator[str]:
    seen: set[str] = set()
    for item in project.spec.destination_service_accounts:
        for name, value in (("server", item.server), ("namespace", item.namespace)):
            if "!" in value:
                yield f"{name} has an invalid format, '{value}'"
        account = item.default_service_account
        if not account.strip(" ") or any(char in account for char in BAD_IN_SERVICE_ACCOUNTS):
            yield f"defaultServiceAccount has an invalid format, '{account}'"
        for name, value in (("server", item.server), ("namespace", item.namespace)):
            if not _compiles(value):
                yield f"{name} has an invalid format, '{value}'"
        key = f"{item.server}/{item.namespace}"
        if key in seen:
            yield f"destinationServiceAccount '{key}' already added"
        seen.add(key)


def _compiles(pattern: str) -> bool:
    try:
        glob_match_or_raise(pattern, "")
    except BadPattern:
        return False
    return True


# The service account that a sync and a server-side diff impersonate.
#
# Mirrors `DeriveServiceAccountToImpersonate` and `applyDiffImpersonationConfig`, Argo CD 3.6.


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
