"""`managedFieldsManagers`: ignores fields that a trusted manager changed.

Mirrors `util/argo/managedfields` `Normalize`, Argo CD 3.6. Live and desired objects are compared by the
schema of their kind; fields with different values that a trusted manager owns are removed from both. Fields
that only one side has are not affected. If either side does not match its schema (one unknown field is
enough), the rule has no effect, without a message.

Without a schema, maps are traversed and lists are atomic.
"""

from __future__ import annotations

from whysync.json_tree import Json, Object, fields, items, text
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
