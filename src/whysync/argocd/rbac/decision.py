"""May this person, token or role do that? The answer, and whose line gave it.

Mirrors `Enforcer.Enforce` and `RBACPolicyEnforcer.EnforceClaims`, Argo CD 3.6. The default role is asked
first, then the subject, then each of its groups that a `g` line names; the first that may, may. So a `deny`
for a person holds neither against the default role nor against a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.api.project import AppProject
from whysync.argocd.rbac.policy import Answer, Policy, Request, project_lines
from whysync.argocd.rbac.policy_line import BadLine, Line
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
    """The token of a project was used for another one."""
    BROKEN_PATTERN = "broken-pattern"
    """A regular expression that cannot be run."""
    INVALID_POLICY = "invalid-policy"
    """A line cannot be read, and with it the whole policy."""


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks: a name as in a policy, or what a token claims to be."""

    subject: str
    groups: tuple[str, ...] = ()
    is_token: bool = False
    """Only for tokens do groups and the roles of projects count."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    allowed: bool
    reason: Reason
    answer: Answer | None = None
    """Of the subject that decided: its line, and how it comes by it."""
    asked: tuple[str, ...] = ()
    """Every subject that was tried, in order."""
    bad_line: BadLine | None = None


def asker_of(claims: Object, scopes: Sequence[str]) -> Asker:
    """Who a token stands for: Dex hides the name in `federated_claims`. Mirrors `GetUserIdentifier`."""
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
    *,
    extra: Iterable[Line] = (),
) -> Decision:
    """`extra` lines hold for this question alone; if one cannot be read, none does."""
    if not policy.is_enforced:
        return Decision(allowed=True, reason=Reason.NOT_ENFORCED)
    if policy.problems:
        return Decision(allowed=False, reason=Reason.INVALID_POLICY, bad_line=policy.problems[0])
    policy = _with_extra(policy, extra)
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
    # Behind all, upstream asks for a subject without a name, whom only a line without one could let in.
    nameless = [""] if asker.is_token else []
    for subject in (asker.subject, *(group for group in asker.groups if group in members), *nameless):
        answer = policy.answer(subject, request)
        if answer.allowed:
            reason = Reason.SUBJECT if subject == asker.subject else Reason.GROUP
            return _allowed(reason, answer, tried)
        tried.append(answer)
    return _refused(tried, default)


def _with_extra(policy: Policy, extra: Iterable[Line]) -> Policy:
    lines = tuple(extra)
    return policy if any(isinstance(line, BadLine) for line in lines) else policy.with_lines(lines)


def _allowed(reason: Reason, answer: Answer, tried: Sequence[Answer]) -> Decision:
    asked = (*(earlier.subject for earlier in tried), answer.subject)
    return Decision(allowed=True, reason=reason, answer=answer, asked=asked)


def _refused(tried: Sequence[Answer], default: Answer | None) -> Decision:
    """A pattern that breaks or a line that denies tells more than the absence of a line."""
    asked = tuple(
        tried_answer.subject
        for tried_answer in ((default, *tried) if default else tried)
        if tried_answer.subject
    )
    for answer in tried:
        if answer.broken is not None:
            return Decision(allowed=False, reason=Reason.BROKEN_PATTERN, answer=answer, asked=asked)
        if answer.line is not None:
            return Decision(allowed=False, reason=Reason.DENIED, answer=answer, asked=asked)
    return Decision(allowed=False, reason=Reason.NOT_GRANTED, answer=tried[0], asked=asked)


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
    """What the API server answers. Mirrors `EnforceErr`; differs: the time of issue is in UTC."""
    parts = list(arguments)
    if isinstance(claims, dict):
        subject = asker_of(fields(claims), ()).subject
        if subject:
            parts.append(f"sub: {subject}")
        issued = claims.get("iat")
        if isinstance(issued, int | float) and not isinstance(issued, bool):
            parts.append(f"iat: {_rfc3339(issued)}")
    return f"rpc error: code = PermissionDenied desc = permission denied: {', '.join(parts)}"


def _rfc3339(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return str(seconds)
