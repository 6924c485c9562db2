"""An RBAC policy and its evaluation for one subject.

Mirrors the casbin model of Argo CD 3.6: a line applies to its subject, and to subjects with at most ten `g`
lines to it; resource, action and object match as globs in which `*` matches slashes, or as unanchored regular
expressions; one `deny` overrides every `allow`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from whysync.argocd.api.project import AppProject
from whysync.golang.glob import glob_match
from whysync.golang.regexp import regex_match

# One line of a policy: `p, subject, resource, action, object, effect` or `g, member, role`.
#
# Mirrors `loadPolicyLine` of `util/rbac`, Argo CD 3.6, and Go's CSV reader: leading spaces of a field are
# removed, trailing ones are significant; a quote inside an unquoted field is an error.


_OTHER_SECTIONS: Final = ("r", "e", "m")
"""Other sections of the model: such lines are accepted and ignored."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """The location of a line: a key of argocd-rbac-cm, `built-in`, or a project; lines count from 1."""

    name: str
    line: int

    def __str__(self) -> str:
        return f"{self.name}:{self.line}"


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    subject: str
    resource: str
    action: str
    object: str
    effect: str
    origin: Origin

    def __str__(self) -> str:
        parts = (self.subject, self.resource, self.action, self.object, self.effect)
        return ", ".join(("p", *map(quoted, parts)))

    @property
    def allows(self) -> bool:
        return self.effect == "allow"

    @property
    def denies(self) -> bool:
        """Lines with any other effect are ignored."""
        return self.effect == "deny"


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """`member` has all permissions of `role`."""

    member: str
    role: str
    origin: Origin

    def __str__(self) -> str:
        return f"g, {quoted(self.member)}, {quoted(self.role)}"


class BadLine(msgspec.Struct, frozen=True, kw_only=True):
    """An invalid line, which makes Argo CD refuse the whole policy."""

    text: str
    problem: str
    origin: Origin


Line: TypeAlias = Permission | Grant | BadLine


def read_lines(text: str, name: str) -> Iterator[Line]:
    for number, raw in enumerate(text.split("\n"), start=1):
        line = read_line(raw, Origin(name=name, line=number))
        if line is not None:
            yield line


def read_line(raw: str, origin: Origin) -> Line | None:
    """`None` for an empty line, a comment, or an ignored section."""
    line = raw.strip()
    if not line or line.startswith("#"):
        return None
    try:
        tokens = split_csv(line)
    except ValueError as problem:
        problem_text = f'error parsing policy line "{line}": {problem}'
        return BadLine(text=line, problem=problem_text, origin=origin)
    match tokens:
        case ["p", subject, resource, action, target, effect]:
            return Permission(
                subject=subject,
                resource=resource,
                action=action,
                object=target,
                effect=effect,
                origin=origin,
            )
        case ["g", member, role]:
            return Grant(member=member, role=role, origin=origin)
        case [section, *_] if section in _OTHER_SECTIONS:
            return None
        case _:
            return BadLine(text=line, problem=f"invalid RBAC policy: {line}", origin=origin)


def split_csv(line: str) -> list[str]:
    """Raises `ValueError` with Go's message. The line must not contain a line feed."""
    tokens: list[str] = []
    position = 0
    while True:
        while position < len(line) and line[position].isspace():
            position += 1
        if position < len(line) and line[position] == '"':
            token, position = _quoted_token(line, position + 1)
        else:
            end = line.find(",", position)
            end = len(line) if end < 0 else end
            quote = line.find('"', position, end)
            if quote >= 0:
                raise ValueError(f'parse error on line 1, column {quote + 1}: bare " in non-quoted field')
            token, position = line[position:end], end
        tokens.append(token)
        if position >= len(line):
            return tokens
        position += 1


def _quoted_token(line: str, position: int) -> tuple[str, int]:
    """A token up to the closing quote; two quotes are an escaped one."""
    pieces: list[str] = []
    while True:
        quote = line.find('"', position)
        if quote < 0:
            column = len(line) + 1
            break
        pieces.append(line[position:quote])
        after = line[quote + 1 : quote + 2]
        if after in ("", ","):
            return "".join(pieces), quote + 1
        if after != '"':
            column = quote + 1
            break
        pieces.append('"')
        position = quote + 2
    raise ValueError(f'parse error on line 1, column {column}: extraneous or missing " in quoted-field')


def quoted(token: str) -> str:
    """A field, quoted if necessary."""
    needs_quotes = any(char in token for char in ',"') or token != token.strip() or token.startswith("#")
    escaped = token.replace('"', '""')
    return f'"{escaped}"' if needs_quotes else token


POLICY_KEY: Final = "policy.csv"
_MOST_STEPS: Final = 10
_DEFAULT_SCOPES: Final = ("groups",)
_NOT_IN_GO: Final = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9]|[*+?}]\+")
"""Lookarounds, backreferences and possessive quantifiers, which Go's regular expressions do not support."""


class MatchMode(StrEnum):
    GLOB = "glob"
    REGEX = "regex"


class PolicyPart(StrEnum):
    """The parts of a request that a line must match, in the order of the checks."""

    RESOURCE = "resource"
    ACTION = "action"
    OBJECT = "object"


class BadRegex(ValueError):
    """The pattern is invalid: requests that reach it are denied."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    resource: str
    action: str
    object: str

    def __str__(self) -> str:
        return f"{self.resource}, {self.action}, {self.object}"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one subject: `line` is the deciding line, if any."""

    subject: str
    line: Permission | None = None
    over: tuple[Grant, ...] = ()
    """The `g` lines from the subject to the line."""
    broken: Permission | None = None
    """A line with an invalid regular expression."""

    @property
    def allowed(self) -> bool:
        return self.broken is None and self.line is not None and self.line.allows


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    permissions: tuple[Permission, ...] = ()
    grants: tuple[Grant, ...] = ()
    problems: tuple[BadLine, ...] = ()
    default_role: str = ""
    match_mode: MatchMode = MatchMode.GLOB
    scopes: tuple[str, ...] = _DEFAULT_SCOPES
    """The claims of a token that contain its groups."""
    is_enforced: bool = True
    """False with `server.disable.auth`: everything is allowed."""

    def with_lines(self, lines: Iterable[Line]) -> Policy:
        all_lines = tuple(lines)
        return replace(
            self,
            permissions=(*self.permissions, *(line for line in all_lines if isinstance(line, Permission))),
            grants=(*self.grants, *(line for line in all_lines if isinstance(line, Grant))),
            problems=(*self.problems, *(line for line in all_lines if isinstance(line, BadLine))),
        )

    def roles_of(self, subject: str) -> dict[str, tuple[Grant, ...]]:
        """The subject and all its roles, each with the shortest chain of `g` lines."""
        by_member: dict[str, list[Grant]] = {}
        for grant in self.grants:
            by_member.setdefault(grant.member, []).append(grant)
        roles: dict[str, tuple[Grant, ...]] = {subject: ()}
        edge = [subject]
        for _ in range(_MOST_STEPS):
            reached: list[str] = []
            for member in edge:
                for grant in by_member.get(member, ()):
                    if grant.role not in roles:
                        roles[grant.role] = (*roles[member], grant)
                        reached.append(grant.role)
            edge = reached
        return roles

    def answer(self, subject: str, request: Request) -> Answer:
        roles = self.roles_of(subject)
        allowing: Permission | None = None
        for line in self.permissions:
            if line.subject not in roles:
                continue
            try:
                if self.misses(line, request, first_only=True):
                    continue
            except BadRegex:
                return Answer(subject=subject, broken=line, over=roles[line.subject])
            if line.denies:
                return Answer(subject=subject, line=line, over=roles[line.subject])
            if line.allows and allowing is None:
                allowing = line
        over = roles[allowing.subject] if allowing is not None else ()
        return Answer(subject=subject, line=allowing, over=over)

    def misses(
        self, line: Permission, request: Request, *, first_only: bool = False
    ) -> tuple[PolicyPart, ...]:
        """The parts of a request that a line does not match, except the subject."""
        missed: list[PolicyPart] = []
        for part in PolicyPart:
            pattern, value = _pair(line, request, part)
            if not self._matches(pattern, value):
                missed.append(part)
                if first_only:
                    break
        return tuple(missed)

    def _matches(self, pattern: str, value: str) -> bool:
        if self.match_mode is MatchMode.GLOB:
            return glob_match(pattern, value)
        if not _compiles(pattern):
            raise BadRegex(pattern)
        return regex_match(pattern, value)


def read_policy(data: Mapping[str, str], *, builtin: bool = True) -> Policy:
    """The built-in policy followed by the policy in the `data` of argocd-rbac-cm."""
    policy = Policy(
        default_role=data.get("policy.default", ""),
        match_mode=match_mode(data.get("policy.matchMode", "")),
        scopes=scopes_of(data.get("scopes", "")),
    )
    if builtin:
        policy = policy.with_lines((*builtin_permissions(), *builtin_grants()))
    for key in policy_keys(data):
        policy = policy.with_lines(read_lines(data[key], key))
    return policy


def policy_keys(data: Mapping[str, str]) -> tuple[str, ...]:
    """`policy.csv` first, then every `policy.<name>.csv` by name. Mirrors `PolicyCSV`."""
    csv_keys = sorted(key for key in data if key.startswith("policy.") and key.endswith(".csv"))
    main_key = (POLICY_KEY,) if POLICY_KEY in data else ()
    return (*main_key, *(key for key in csv_keys if key != POLICY_KEY))


def match_mode(text: str) -> MatchMode:
    """`regex`, otherwise globs."""
    return MatchMode.REGEX if text == "regex" else MatchMode.GLOB


def scopes_of(text: str) -> tuple[str, ...]:
    """A YAML list such as `[groups, email]`; the default is `[groups]`."""
    from whysync.argocd.settings.yaml_values import Malformed, read_yaml, sequence, texts_field

    if not text:
        return _DEFAULT_SCOPES
    try:
        return texts_field({"scopes": sequence(read_yaml(text), "[]string")}, "scopes", "")
    except Malformed:
        return _DEFAULT_SCOPES


def project_lines(project: AppProject) -> tuple[Line, ...]:
    """The policy lines of the roles of a project. Mirrors `ProjectPoliciesString`.

    Each role may read its project. If one line cannot be parsed, Argo CD uses none of them.
    """
    name = project.metadata.name
    read: list[Line] = []
    for role in project.spec.roles:
        subject = f"proj:{name}:{role.name}"
        texts = [f"p, {subject}, projects, get, {name}, allow", *role.policies]
        texts += [f"g, {group}, {subject}" for group in role.groups]
        read += read_lines("\n".join(texts), f"project {name}, role {role.name}")
    return () if any(isinstance(line, BadLine) for line in read) else tuple(read)


def policy_problem(text: str) -> str | None:
    """Mirrors `ValidatePolicy`, whose message has the whole policy, but not the invalid line."""
    bad = any(isinstance(line, BadLine) for line in read_lines(text, POLICY_KEY))
    return f"policy syntax error: {text}" if bad else None


def _pair(line: Permission, request: Request, part: PolicyPart) -> tuple[str, str]:
    match part:
        case PolicyPart.RESOURCE:
            return line.resource, request.resource
        case PolicyPart.ACTION:
            return line.action, request.action
        case PolicyPart.OBJECT:
            return line.object, request.object


def _compiles(pattern: str) -> bool:
    if _NOT_IN_GO.search(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


READONLY: Final = "role:readonly"
ADMIN: Final = "role:admin"
BUILT_IN: Final = "built-in"

_IN_PROJECTS: Final = ("applications", "applicationsets", "logs", "exec")
"""Resources whose objects are `project/name`; clusters and repositories may have any name."""
_READ: Final = (
    "applications", "applicationsets", "certificates", "clusters", "repositories", "write-repositories",
    "projects", "accounts", "gpgkeys", "logs",
)  # fmt: skip
_CHANGE: Final = ("create", "update", "delete")
_ADMIN: Final = {
    "applications": (
        "create", "update", "update/*", "delete", "delete/*", "sync", "rollback", "override", "action/*",
    ),
    "applicationsets": ("get", *_CHANGE),
    "certificates": _CHANGE,
    "clusters": _CHANGE,
    "repositories": _CHANGE,
    "write-repositories": _CHANGE,
    "projects": _CHANGE,
    "accounts": ("update",),
    "gpgkeys": ("create", "delete"),
    "exec": ("create",),
}  # fmt: skip


@cache
def builtin_permissions() -> tuple[Permission, ...]:
    """No built-in role has `extensions, invoke`; it must be granted explicitly, even to admins."""
    rows = (*((READONLY, resource, "get") for resource in _READ), *_admin_rows())
    return tuple(
        Permission(
            subject=role,
            resource=resource,
            action=action,
            object="*/*" if resource in _IN_PROJECTS else "*",
            effect="allow",
            origin=Origin(name=BUILT_IN, line=number),
        )
        for number, (role, resource, action) in enumerate(rows, start=1)
    )


def builtin_grants() -> tuple[Grant, ...]:
    number = len(builtin_permissions())
    return (
        Grant(member=ADMIN, role=READONLY, origin=Origin(name=BUILT_IN, line=number + 1)),
        Grant(member="admin", role=ADMIN, origin=Origin(name=BUILT_IN, line=number + 2)),
    )


def _admin_rows() -> Iterator[tuple[str, str, str]]:
    for resource, actions in _ADMIN.items():
        for action in actions:
            yield ADMIN, resource, action
