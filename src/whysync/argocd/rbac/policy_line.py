"""One line of a policy: `p, subject, resource, action, object, effect` or `g, member, role`.

Mirrors `loadPolicyLine` of `util/rbac`, Argo CD 3.6, and Go's CSV reader below it: spaces in front of a field
go, those behind it stay and count; a quote inside an unquoted field is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

_OTHER_SECTIONS: Final = ("r", "e", "m")
"""Sections of the model beside `p` and `g`: such lines are accepted, and mean nothing."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a line stands: a key of argocd-rbac-cm, `built-in`, or a project; lines count from 1."""

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
        """Any other word than these two counts for nothing."""
        return self.effect == "deny"


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """`member` has all that `role` has."""

    member: str
    role: str
    origin: Origin

    def __str__(self) -> str:
        return f"g, {quoted(self.member)}, {quoted(self.role)}"


class BadLine(msgspec.Struct, frozen=True, kw_only=True):
    """One of these, and Argo CD refuses the whole policy."""

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
    """Nothing for an empty line, a comment, and what is accepted without a meaning."""
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
    """Raises `ValueError` with Go's words. The line has no line feed in it."""
    tokens: list[str] = []
    place = 0
    while True:
        while place < len(line) and line[place].isspace():
            place += 1
        if place < len(line) and line[place] == '"':
            token, place = _quoted_token(line, place + 1)
        else:
            end = line.find(",", place)
            end = len(line) if end < 0 else end
            quote = line.find('"', place, end)
            if quote >= 0:
                raise ValueError(f'parse error on line 1, column {quote + 1}: bare " in non-quoted field')
            token, place = line[place:end], end
        tokens.append(token)
        if place >= len(line):
            return tokens
        place += 1


def _quoted_token(line: str, place: int) -> tuple[str, int]:
    """Up to the quote that closes it; two in a row are one."""
    parts: list[str] = []
    while True:
        quote = line.find('"', place)
        if quote < 0:
            where = len(line) + 1
            break
        parts.append(line[place:quote])
        after = line[quote + 1 : quote + 2]
        if after in ("", ","):
            return "".join(parts), quote + 1
        if after != '"':
            where = quote + 1
            break
        parts.append('"')
        place = quote + 2
    raise ValueError(f'parse error on line 1, column {where}: extraneous or missing " in quoted-field')


def quoted(token: str) -> str:
    """A field as it must be written to be read back."""
    needs_quotes = any(char in token for char in ',"') or token != token.strip() or token.startswith("#")
    escaped = token.replace('"', '""')
    return f'"{escaped}"' if needs_quotes else token
