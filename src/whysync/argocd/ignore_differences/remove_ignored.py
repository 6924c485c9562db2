"""Removes ignored fields from objects.

Mirrors `NewIgnoreNormalizer` and its `Normalize`, Argo CD 3.6: pointers before expressions within a rule, the
Application's rules before argocd-cm's. A removal that fails is silently skipped, so the effect of each rule
is also reported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from whysync.argocd.api.application import IgnoreDifference
from whysync.argocd.ignore_differences.rules import Mismatch, Override, Rule, application_rules, system_rules
from whysync.argocd.scripts.jq import BadExpression, Deletion, DeletionFailed, Path, removed
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.merge.structured import (
    DEDUCED,
    Atom,
    FieldSet,
    Schemas,
    TypeErrors,
    remove_items,
    validate,
)
from whysync.kubernetes.merge.structured import compare as compare_typed
from whysync.kubernetes.merge.structured.fieldset import from_fields_v1

# `jsonPointers`: one RFC 6902 `remove` each, as evanphx/json-patch does it.
#
# A pointer to a missing field is silently skipped. List items are addressed by number, which may be negative.


_INDEX = r"[+-]?[0-9]{1,9}"


class PointerOutcome(StrEnum):
    REMOVED = "removed"
    MISSING = "missing"
    """The field does not exist; the pointer is silently skipped."""
    BAD_INDEX = "bad-index"
    """A token is not a valid index of a list."""


def without_pointer(obj: Object, pointer: str) -> tuple[Object, PointerOutcome]:
    path = path_of(obj, pointer)
    if isinstance(path, PointerOutcome):
        return obj, path
    remaining = removed(obj, path)
    assert isinstance(remaining, dict)
    return remaining, PointerOutcome.REMOVED


def path_of(obj: Object, pointer: str) -> Path | PointerOutcome:
    """The path of a pointer in an object; a pointer needs a slash, so `""` is not the whole object."""
    if "/" not in pointer:
        return PointerOutcome.MISSING
    path: list[str | int] = []
    current: Json = obj
    for token in pointer.split("/")[1:]:  # text before the first slash is ignored
        token = pointers.unescape(token)
        if isinstance(current, dict):
            if token not in current:
                return PointerOutcome.MISSING
            path.append(token)
            current = current[token]
        elif isinstance(current, list):
            index = int(token) if re.fullmatch(_INDEX, token) else None
            if index is None or not -len(current) <= index < len(current):
                return PointerOutcome.BAD_INDEX
            path.append(index)
            current = current[index]
        else:
            return PointerOutcome.MISSING
    return tuple(path)


class BadRule(ValueError):
    """A jq expression does not compile, so Argo CD cannot compare any object of the app."""

    def __init__(self, rule: Rule, expression: str, problem: str) -> None:
        super().__init__(problem)
        self.rule = rule
        self.expression = expression


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """One pointer or expression of a rule, and its effect."""

    selector: str
    removed: bool = False
    problem: str = ""
    """Argo CD's error message; a pointer to a missing field is not an error."""


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    rule: Rule
    mismatch: Mismatch | None = None
    removals: tuple[Removal, ...] = ()

    @property
    def matched(self) -> bool:
        return self.mismatch is None

    @property
    def removed(self) -> bool:
        return any(removal.removed for removal in self.removals)


class _Compiled(msgspec.Struct, frozen=True):
    rule: Rule
    deletions: tuple[Deletion, ...]


class Normalizer:
    """The compiled rules of one Application."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: tuple[_Compiled, ...]) -> None:
        self._compiled = compiled

    @classmethod
    def build(
        cls,
        rules: Iterable[IgnoreDifference],
        overrides: Mapping[str, Override] | None = None,
    ) -> Normalizer:
        """Raises `BadRule`."""
        compiled: list[_Compiled] = []
        for rule in (*application_rules(rules), *system_rules(overrides or {})):
            deletions: list[Deletion] = []
            for expression in rule.expressions:
                try:
                    deletions.append(Deletion(expression))
                except BadExpression as problem:
                    raise BadRule(rule, expression, str(problem)) from problem
            compiled.append(_Compiled(rule, tuple(deletions)))
        return cls(tuple(compiled))

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(compiled.rule for compiled in self._compiled)

    def normalize(self, obj: Object) -> Object:
        """The object without ignored fields; the same object if nothing is removed."""
        remaining, _ = self._run(obj, ref_of(obj), report=False)
        return remaining

    def apply(self, obj: Object) -> tuple[Object, tuple[Applied, ...]]:
        """The same, with the effect of each rule."""
        return self._run(obj, ref_of(obj), report=True)

    def trusted_managers(self, ref: Ref) -> tuple[str, ...]:
        """The trusted managers for an object, argocd-cm's first, without duplicates."""
        matching = [compiled.rule for compiled in self._compiled if compiled.rule.trusts_managers_for(ref)]
        matching.sort(key=_system_first)
        return tuple(dict.fromkeys(manager for rule in matching for manager in rule.managers))

    def _run(self, obj: Object, ref: Ref, *, report: bool) -> tuple[Object, tuple[Applied, ...]]:
        remaining = obj
        applied: list[Applied] = []
        for compiled in self._compiled:
            mismatch = compiled.rule.mismatch(ref)
            removals: tuple[Removal, ...] = ()
            if mismatch is None:
                remaining, removals = _removals(remaining, compiled)
            if report:
                applied.append(Applied(rule=compiled.rule, mismatch=mismatch, removals=removals))
        # without its kind Argo CD cannot decode the object, and keeps the original
        return (remaining if remaining.get("kind") else obj), tuple(applied)


def _system_first(rule: Rule) -> tuple[bool, bool]:
    """Mirrors `HasIgnoreDifference`: the exact key of argocd-cm, then `*/*`, then the Application."""
    return rule.override_key is None, rule.override_key == "*/*"


def _removals(obj: Object, compiled: _Compiled) -> tuple[Object, tuple[Removal, ...]]:
    removals: list[Removal] = []
    for pointer in compiled.rule.pointers:
        obj, outcome = without_pointer(obj, pointer)
        removals.append(
            Removal(
                selector=pointer,
                removed=outcome is PointerOutcome.REMOVED,
                problem="a list is entered by position" if outcome is PointerOutcome.BAD_INDEX else "",
            )
        )
    for deletion in compiled.deletions:
        remaining, removal = _deleted(obj, deletion)
        removals.append(removal)
        obj = remaining
    return obj, tuple(removals)


def _deleted(obj: Object, deletion: Deletion) -> tuple[Object, Removal]:
    try:
        remaining = deletion.apply(obj)
    except DeletionFailed as problem:
        failed = Removal(selector=deletion.expression, problem=str(problem))
        return obj, failed
    if not isinstance(remaining, dict):
        problem = "the expression leaves no object"
        return obj, Removal(selector=deletion.expression, problem=problem)
    return remaining, Removal(selector=deletion.expression, removed=remaining != obj)


# `managedFieldsManagers`: ignores fields that a trusted manager changed.
#
# Mirrors `util/argo/managedfields` `Normalize`, Argo CD 3.6. Live and desired objects are compared by the
# schema of their kind; fields with different values that a trusted manager owns are removed from both. Fields
# that only one side has are not affected. If either side does not match its schema (one unknown field is
# enough), the rule has no effect, without a message.
#
# Without a schema, maps are traversed and lists are atomic.


def atom_for(obj: Object, schemas: Schemas | None = None) -> Atom:
    """The type of an object; `schemas` has those of custom resources."""
    all_schemas = schemas if schemas is not None else Schemas()
    return all_schemas.atom(text(obj.get("apiVersion")), text(obj.get("kind"))) or DEDUCED


def without_trusted_changes(
    live: Object, desired: Object, managers: tuple[str, ...], atom: Atom
) -> tuple[Object, Object]:
    """Both objects without the fields that differ and that a trusted manager owns."""
    removed = trusted_changes(live, desired, managers, atom)
    if not removed:
        return live, desired
    return _without(live, removed, atom), _without(desired, removed, atom)


def trusted_changes(live: Object, desired: Object, managers: tuple[str, ...], atom: Atom) -> FieldSet:
    """The fields that the rule removes; none if an object does not match its type."""
    trusted = FieldSet()
    claims = [
        entry.get("fieldsV1")
        for entry in map(fields, items(fields(live.get("metadata")).get("managedFields")))
        if text(entry.get("manager")) in managers
    ]
    if not claims:
        return trusted
    try:
        validate(live, atom)
        validate(desired, atom)
        modified = compare_typed(live, desired, atom).modified
    except (TypeErrors, RecursionError):
        return trusted
    for claim in claims:
        trusted = trusted.union(_owned(claim).intersection(modified))
    return trusted


def _owned(claim: Json) -> FieldSet:
    try:
        return from_fields_v1(claim)
    except (ValueError, RecursionError):  # an unreadable entry owns nothing
        return FieldSet()


def _without(obj: Object, removed: FieldSet, atom: Atom) -> Object:
    remaining = remove_items(obj, removed, atom)
    return remaining if isinstance(remaining, dict) else obj
