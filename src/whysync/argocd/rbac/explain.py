"""Explains a denied request: the closest policy line, and the smallest line that would allow it."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from whysync.argocd.api.project import AppProject
from whysync.argocd.rbac.decision import Asker, Decision, Reason, decide, project_of
from whysync.argocd.rbac.policy import (
    POLICY_KEY,
    BadRegex,
    Grant,
    MatchMode,
    Origin,
    Permission,
    Policy,
    PolicyPart,
    Request,
    project_lines,
)


class Nearest(msgspec.Struct, frozen=True, kw_only=True):
    """The closest line: the parts that do not match, and whether it applies to the user."""

    line: Permission
    misses: tuple[PolicyPart, ...]
    is_own: bool


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    decision: Decision
    nearest: Nearest | None = None
    remedy: Permission | Grant | None = None
    """A line that allows the request, verified; `None` if no single line can."""


def explain(
    policy: Policy, asker: Asker, request: Request, projects: Mapping[str, AppProject] | None = None
) -> Explanation:
    decision = decide(policy, asker, request, projects)
    if decision.allowed or decision.reason is Reason.INVALID_POLICY:
        return Explanation(decision=decision)
    return Explanation(
        decision=decision,
        nearest=nearest(_whole(policy, request, projects), asker, request),
        remedy=remedy(policy, asker, request, projects),
    )


def nearest(policy: Policy, asker: Asker, request: Request) -> Nearest | None:
    """The user's own lines first, then those with the fewest mismatches; never of another resource."""
    own = _own_roles(policy, asker)
    candidates: list[tuple[bool, int, int, Nearest]] = []
    for position, line in enumerate(policy.permissions):
        misses = _misses(policy, line, request)
        if line.allows and PolicyPart.RESOURCE not in misses:
            is_own = line.subject in own
            candidates.append(
                (not is_own, len(misses), position, Nearest(line=line, misses=misses, is_own=is_own))
            )
    return min(candidates, key=lambda candidate: candidate[:3])[3] if candidates else None


def remedy(
    policy: Policy, asker: Asker, request: Request, projects: Mapping[str, AppProject] | None = None
) -> Permission | Grant | None:
    """A line for exactly this request and subject; for a token without subject, for one of its groups.

    A group without a `g` line is never checked, so it needs a role first. No line helps against a `deny`.
    """
    origin = Origin(name=POLICY_KEY, line=0)
    candidates: list[Permission | Grant] = [
        Permission(
            subject=subject,
            resource=_exactly(request.resource, policy.match_mode),
            action=_exactly(request.action, policy.match_mode),
            object=_exactly(request.object, policy.match_mode),
            effect="allow",
            origin=origin,
        )
        for subject in (asker.subject, *asker.groups)
        if subject
    ]
    candidates += [
        Grant(member=group, role=role, origin=origin)
        for group in asker.groups
        for role in _roles_that_may(_whole(policy, request, projects), request)
    ]
    for candidate in candidates:
        if decide(policy.with_lines((candidate,)), asker, request, projects).allowed:
            return candidate
    return None


def _whole(policy: Policy, request: Request, projects: Mapping[str, AppProject] | None) -> Policy:
    project = project_of(request, projects or {})
    return policy if project is None else policy.with_lines(project_lines(project))


def _own_roles(policy: Policy, asker: Asker) -> set[str]:
    names = (asker.subject, policy.default_role, *asker.groups)
    return {role for name in names if name for role in policy.roles_of(name)}


def _roles_that_may(policy: Policy, request: Request) -> list[str]:
    """Roles that allow the request, those with the fewest permissions first."""
    sizes: dict[str, int] = {}
    for line in policy.permissions:
        sizes[line.subject] = sizes.get(line.subject, 0) + 1
    able = [role for role in sizes if role.startswith("role:") and policy.answer(role, request).allowed]
    return sorted(able, key=lambda role: (sizes[role], role))


def _misses(policy: Policy, line: Permission, request: Request) -> tuple[PolicyPart, ...]:
    try:
        return policy.misses(line, request)
    except BadRegex:
        return tuple(PolicyPart)


def _exactly(value: str, mode: MatchMode) -> str:
    """A pattern that matches only this value."""
    if mode is MatchMode.REGEX:
        return f"^{re.escape(value)}$"
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", value)
