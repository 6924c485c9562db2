"""`managedFieldsManagers`: what a trusted manager changed is no difference.

Mirrors `util/argo/managedfields` `Normalize`, Argo CD 3.6. Live and desired are compared by the type of
their kind; of the fields that both have with different values, those that a trusted manager owns are taken
out of both. A field that only one side has is not looked at. If either side does not fit its type (one
unknown field is enough), nothing happens at all, and nobody is told.

Where the type is unknown, maps are entered and lists are whole.
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
    """The type by which an object is compared here; `schemas` knows those of custom resources."""
    known = schemas if schemas is not None else Schemas()
    return known.atom(text(obj.get("apiVersion")), text(obj.get("kind"))) or DEDUCED


def without_trusted_changes(
    live: Object, desired: Object, managers: tuple[str, ...], atom: Atom
) -> tuple[Object, Object]:
    """Both sides without the fields that they disagree on and that a trusted manager owns."""
    gone = trusted_changes(live, desired, managers, atom)
    if not gone:
        return live, desired
    return _without(live, gone, atom), _without(desired, gone, atom)


def trusted_changes(live: Object, desired: Object, managers: tuple[str, ...], atom: Atom) -> FieldSet:
    """The fields that such a rule takes out; none where the objects do not fit their type."""
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
    except (ValueError, RecursionError):  # a record that says nothing readable owns nothing
        return FieldSet()


def _without(obj: Object, gone: FieldSet, atom: Atom) -> Object:
    left = remove_items(obj, gone, atom)
    return left if isinstance(left, dict) else obj
