"""One line of a policy: `p, subject, resource, action, object, effect` or `g, member, role`.

Mirrors `loadPolicyLine` of `util/rbac`, Argo CD 3.6, and Go's CSV reader: leading spaces of a field are
removed, trailing ones are significant; a quote inside an unquoted field is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

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
