"""Ignore rules: of an Application, and of argocd-cm for all objects of a kind.

Group and kind are globs; name and namespace are exact, and empty means any. An empty group is the core
group. Rules are cumulative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

from whysync.argocd.api.application import IgnoreDifference
from whysync.golang.glob import glob_match
from whysync.kubernetes.api.ref import Ref


class Mismatch(StrEnum):
    """The first part of a rule that does not match an object, in the order of Argo CD's checks."""

    GROUP = "group"
    KIND = "kind"
    NAME = "name"
    NAMESPACE = "namespace"


class IgnoredFields(Protocol):
    """The rules of argocd-cm for one kind."""

    @property
    def json_pointers(self) -> tuple[str, ...]: ...
    @property
    def jq_path_expressions(self) -> tuple[str, ...]: ...
    @property
    def managed_fields_managers(self) -> tuple[str, ...]: ...


class Override(Protocol):
    @property
    def ignore_differences(self) -> IgnoredFields: ...


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    pointers: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    override_key: str | None = None
    """The key in argocd-cm; `None` for a rule of the Application."""
    position: int = 0
    """The index in the Application's rules."""

    @property
    def origin(self) -> str:
        if self.override_key is not None:
            return f"argocd-cm, resource.customizations of {self.override_key}"
        return f"spec.ignoreDifferences[{self.position}]"

    @property
    def names_a_field(self) -> bool:
        return bool(self.pointers or self.expressions or self.managers)

    def mismatch(self, ref: Ref) -> Mismatch | None:
        """Why the pointers and jq expressions of this rule do not apply to an object; `None` if they do."""
        if not glob_match(self.group, ref.group):
            return Mismatch.GROUP
        if not glob_match(self.kind, ref.kind):
            return Mismatch.KIND
        if self.name not in ("", ref.name):
            return Mismatch.NAME
        if self.namespace not in ("", ref.namespace):
            return Mismatch.NAMESPACE
        return None

    def trusts_managers_for(self, ref: Ref) -> bool:
        """Do `managers` apply to an object? For argocd-cm, only with the exact key or `*/*`.

        A core kind is looked up as `/Service`, a key that is never used, so such a rule has no effect.
        """
        if self.override_key is None:
            return self.mismatch(ref) is None
        return self.override_key in ("*/*", f"{ref.group}/{ref.kind}")


def application_rules(rules: Iterable[IgnoreDifference]) -> Iterator[Rule]:
    for position, rule in enumerate(rules):
        yield Rule(
            group=rule.group,
            kind=rule.kind,
            name=rule.name,
            namespace=rule.namespace,
            pointers=rule.json_pointers,
            expressions=rule.jq_path_expressions,
            managers=rule.managed_fields_managers,
            position=position,
        )


def system_rules(overrides: Mapping[str, Override]) -> Iterator[Rule]:
    """In the order of their keys, which is random upstream."""
    for key in sorted(overrides):
        ignored = overrides[key].ignore_differences
        group, kind = group_kind_of(key)
        yield Rule(
            group=group,
            kind=kind,
            pointers=ignored.json_pointers,
            expressions=ignored.jq_path_expressions,
            managers=ignored.managed_fields_managers,
            override_key=key,
        )


def group_kind_of(key: str) -> tuple[str, str]:
    """`apps/Deployment`, or `ConfigMap` in the core group; keys with more slashes are ignored."""
    parts = key.split("/")
    if len(parts) == 1:
        return "", key
    return (parts[0], parts[1]) if len(parts) == 2 else ("", "")
