"""Argo CD's own permissions: the lines of `policy.csv`, and whether one of them lets a request through.

Mirrors `util/rbac` of Argo CD 3.6 as far as one request goes: a line `p, subject, resource, action,
object, effect` matches by globs without separators, `g` lines give a subject its roles, and
`policy.default` holds for everybody.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

from whysync.contracts.manifest import Manifest
from whysync.contracts.tree import fields, text
from whysync.semantics.globs import glob_match


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    subject: str
    resource: str
    action: str
    object: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """One `p` line; `key` is the entry of the ConfigMap that holds it."""

    subject: str
    resource: str
    action: str
    object: str
    effect: str
    key: str

    def __str__(self) -> str:
        return ", ".join(("p", self.subject, self.resource, self.action, self.object, self.effect))

    @property
    def allows(self) -> bool:
        return self.effect == "allow"

    def misses(self, request: Request) -> tuple[str, ...]:
        """Which parts of the request it does not cover; nothing means that it matches."""
        parts = (
            ("resource", self.resource, request.resource),
            ("action", self.action, request.action),
            ("object", self.object, request.object),
        )
        return tuple(name for name, pattern, value in parts if not glob_match(pattern, value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    permissions: tuple[Permission, ...]
    roles: tuple[tuple[str, str], ...]
    default: str

    def roles_of(self, subject: str) -> frozenset[str]:
        """The subject itself, its roles by `g` lines, those that these have, and the default role."""
        found = {role for role in (subject, self.default) if role}
        while True:
            more = {role for member, role in self.roles if member in found} - found
            if not more:
                return frozenset(found)
            found |= more

    def nearest(self, request: Request) -> Permission | None:
        """The line that comes closest: of the subject's own roles first, then the one that misses least."""
        own = self.roles_of(request.subject)
        candidates = [p for p in self.permissions if "resource" not in p.misses(request)]

        def distance(permission: Permission) -> tuple[bool, int, str]:
            foreign = bool(request.subject) and permission.subject not in own
            return foreign, len(permission.misses(request)), str(permission)

        return min(candidates, key=distance, default=None)

    def allows(self, request: Request) -> bool:
        own = self.roles_of(request.subject)
        matching = [p for p in self.permissions if p.subject in own and not p.misses(request)]
        return any(p.allows for p in matching) and all(p.allows for p in matching)

    def denies(self, request: Request) -> Permission | None:
        own = self.roles_of(request.subject)
        return next(
            (p for p in self.permissions if not p.allows and p.subject in own and not p.misses(request)), None
        )


def read_policy(config_map: Manifest) -> Policy:
    """All of `policy.csv` and `policy.*.csv`; a line that does not read is left out."""
    data = fields(config_map.body.get("data"))
    permissions: list[Permission] = []
    roles: list[tuple[str, str]] = []
    for key in sorted(data):
        if key == "policy.csv" or (key.startswith("policy.") and key.endswith(".csv")):
            for row in _rows(text(data.get(key))):
                match row:
                    case ["p", subject, resource, action, object, effect]:
                        permissions.append(
                            Permission(
                                subject=subject,
                                resource=resource,
                                action=action,
                                object=object,
                                effect=effect,
                                key=key,
                            )
                        )
                    case ["g", member, role]:
                        roles.append((member, role))
                    case _:
                        continue
    return Policy(
        permissions=tuple(permissions), roles=tuple(roles), default=text(data.get("policy.default"))
    )


def _rows(content: str) -> Iterator[list[str]]:
    for line in content.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                yield [part.strip() for part in next(csv.reader([line.strip()], skipinitialspace=True))]
            except (csv.Error, StopIteration):
                continue
