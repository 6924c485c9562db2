"""RBAC decisions: may a user, token or role perform an action, and which policy line decides?

Mirrors `Enforcer.Enforce` and `RBACPolicyEnforcer.EnforceClaims`, Argo CD 3.6. The default role is checked
first, then the subject, then each of its groups that a `g` line names; the first that is allowed decides. So
a `deny` for a user does not override the default role or a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.api.project import AppProject
from whysync.argocd.rbac.policy import Answer, BadLine, Policy, Request, project_lines
from whysync.json_tree import Json, Object, dig, fields, items, text

_IN_PROJECTS: Final = ("applicationsets", "applications", "repositories", "clusters", "logs", "exec")


class Reason(StrEnum):
    NOT_ENFORCED = "not-enforced"
    DEFAULT_ROLE = "default-role"
    SUBJECT = "subject"
    GROUP = "group"
    DENIED = "denied"
    """A line denies it."""
    NOT_GRANTED = "not-granted"
    """No line allows it."""
    FOREIGN_PROJECT = "foreign-project"
    """The token belongs to another project."""
    BROKEN_PATTERN = "broken-pattern"
    """A regular expression is invalid."""
    INVALID_POLICY = "invalid-policy"
    """A line cannot be parsed, which invalidates the whole policy."""


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """The requesting user: a subject of a policy, or the claims of a token."""

    subject: str
    groups: tuple[str, ...] = ()
    is_token: bool = False
    """Groups and project roles only apply to tokens."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    allowed: bool
    reason: Reason
    answer: Answer | None = None
    """The deciding line, and the `g` lines from the subject to it."""
    asked: tuple[str, ...] = ()
    """Every subject that was tried, in order."""
    bad_line: BadLine | None = None


def asker_of(claims: Object, scopes: Sequence[str]) -> Asker:
    """The subject of a token; with Dex it is in `federated_claims`. Mirrors `GetUserIdentifier`."""
    name = text(dig(claims, "federated_claims", "user_id")) or text(claims.get("sub"))
    groups: list[str] = []
    for scope in scopes:
        value = claims.get(scope)
        groups += (
            [value] if isinstance(value, str) else [group for group in items(value) if isinstance(group, str)]
        )
    return Asker(subject=name, groups=tuple(groups), is_token=True)


def decide(
    policy: Policy,
    asker: Asker,
    request: Request,
    projects: Mapping[str, AppProject] | None = None,
) -> Decision:
    if not policy.is_enforced:
        return Decision(allowed=True, reason=Reason.NOT_ENFORCED)
    if policy.problems:
        return Decision(allowed=False, reason=Reason.INVALID_POLICY, bad_line=policy.problems[0])
    tried: list[Answer] = []
    default = policy.answer(policy.default_role, request) if policy.default_role else None
    if default is not None and default.allowed:
        return _allowed(Reason.DEFAULT_ROLE, default, [])
    if asker.is_token:
        project = project_of(request, projects or {})
        if project is not None and is_project_subject(asker.subject):
            if asker.subject.split(":")[1] != project.metadata.name:
                return Decision(allowed=False, reason=Reason.FOREIGN_PROJECT, asked=(asker.subject,))
            asker = Asker(subject=asker.subject, is_token=True)
        policy = policy.with_lines(project_lines(project)) if project is not None else policy
        if policy.default_role:
            default = policy.answer(policy.default_role, request)
            if default.allowed:
                return _allowed(Reason.DEFAULT_ROLE, default, [])
    members = {grant.member for grant in policy.grants}
    # Finally upstream checks an empty subject, which only a line with an empty subject allows.
    nameless = [""] if asker.is_token else []
    for subject in (asker.subject, *(group for group in asker.groups if group in members), *nameless):
        answer = policy.answer(subject, request)
        if answer.allowed:
            reason = Reason.SUBJECT if subject == asker.subject else Reason.GROUP
            return _allowed(reason, answer, tried)
        tried.append(answer)
    return _refused(tried, default)


def _allowed(reason: Reason, answer: Answer, tried: Sequence[Answer]) -> Decision:
    tried_subjects = (*(earlier.subject for earlier in tried), answer.subject)
    return Decision(allowed=True, reason=reason, answer=answer, asked=tried_subjects)


def _refused(tried: Sequence[Answer], default: Answer | None) -> Decision:
    """An invalid pattern or a denying line takes precedence over a missing line."""
    answers = (default, *tried) if default else tried
    tried_subjects = tuple(answer.subject for answer in answers if answer.subject)
    for answer in tried:
        if answer.broken is not None:
            return Decision(allowed=False, reason=Reason.BROKEN_PATTERN, answer=answer, asked=tried_subjects)
        if answer.line is not None:
            return Decision(allowed=False, reason=Reason.DENIED, answer=answer, asked=tried_subjects)
    return Decision(allowed=False, reason=Reason.NOT_GRANTED, answer=tried[0], asked=tried_subjects)


def project_of(request: Request, projects: Mapping[str, AppProject]) -> AppProject | None:
    """The project that a request is about, if it exists. Mirrors `getProjectFromRequest`."""
    name, slash, _ = request.object.partition("/")
    if request.resource in _IN_PROJECTS and slash:
        return projects.get(name)
    return projects.get(request.object) if request.resource == "projects" else None


def is_project_subject(subject: str) -> bool:
    parts = subject.split(":")
    return len(parts) == 3 and parts[0] == "proj"


def denial_text(arguments: Iterable[str], claims: Json = None) -> str:
    """The API server's error message. Mirrors `EnforceErr`; differs: `iat` is in UTC."""
    details = list(arguments)
    if isinstance(claims, dict):
        subject = asker_of(fields(claims), ()).subject
        if subject:
            details.append(f"sub: {subject}")
        issued = claims.get("iat")
        if isinstance(issued, int | float) and not isinstance(issued, bool):
            details.append(f"iat: {_rfc3339(issued)}")
    return f"rpc error: code = PermissionDenied desc = permission denied: {', '.join(details)}"


def _rfc3339(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return str(seconds)
