"""The live object after a server-side apply. Mirrors `merge.Updater.Apply`, with force."""

from __future__ import annotations

from typing import NamedTuple

from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.structured.fieldset import FieldSet, from_fields_v1
from whysync.kubernetes.merge.structured.merge import merge, remove_items
from whysync.kubernetes.merge.structured.schema import Atom
from whysync.kubernetes.merge.structured.walk import field_set


class Manager(NamedTuple):
    """The identity of an entry of `managedFields`."""

    name: str
    operation: str
    subresource: str
    api_version: str
    """Empty for appliers, which have one entry for all versions."""


class Claim(NamedTuple):
    owned: FieldSet
    api_version: str


def decode_managers(live: Object) -> dict[Manager, Claim]:
    """Mirrors `DecodeManagedFields`, with its errors."""
    claims: dict[Manager, Claim] = {}
    for index, raw in enumerate(items(fields(live.get("metadata")).get("managedFields"))):
        entry = fields(raw)
        operation, version = text(entry.get("operation")), text(entry.get("apiVersion"))
        if operation not in {"Apply", "Update"}:
            raise DiffError("operation must be `Apply` or `Update`")
        if not version:
            raise DiffError("apiVersion must not be empty")
        if entry.get("fieldsType") != "FieldsV1":
            shape = text(entry.get("fieldsType"))
            raise DiffError(
                f'invalid fieldsType "{shape}" in managed fields entry {index}'
                if shape
                else f"missing fieldsType in managed fields entry {index}"
            )
        try:
            owned = from_fields_v1(entry.get("fieldsV1"))
        except ValueError as problem:
            raise DiffError(
                f"error decoding versioned set from {index}: error decoding set: {problem}"
            ) from None
        manager = Manager(
            text(entry.get("manager")),
            operation,
            text(entry.get("subresource")),
            "" if operation == "Apply" else version,
        )
        claims[manager] = Claim(owned, version)
    return claims


def applied(
    live: Object, config: Object, managers: dict[Manager, Claim], manager: str, atom: Atom
) -> Object | None:
    """The live object after an apply of `config`; `None` when nothing changes.

    A field is removed if the manager applied it last time, does not do so now, and no other manager owns it.
    Claims in another API version are ignored: upstream cannot convert them either.
    """
    version = text(config.get("apiVersion"))
    current = {
        owner: claim.owned
        for owner, claim in managers.items()
        if claim.api_version == text(live.get("apiVersion"))
    }
    applier = Manager(manager, "Apply", "", "")
    last_applied = current.pop(applier, None)
    merged = fields(merge(live, config, atom))
    if last_applied and version == text(live.get("apiVersion")):
        last_applied, config_fields = _reconcile_with_schema(last_applied, atom), field_set(config, atom)
        if last_applied.difference(config_fields):
            others = [_reconcile_with_schema(owned, atom) for owned in current.values()]
            merged = _prune(merged, last_applied, [*others, config_fields], atom)
    return None if merged == live else merged


def _prune(merged: Object, last_applied: FieldSet, claims: list[FieldSet], atom: Atom) -> Object:
    last_fields = ensure_named_fields_are_members(last_applied, atom)
    pruned = remove_items(merged, last_fields, atom)
    claimed = FieldSet()
    for claim in claims:
        claimed = claimed.union(claim)
    everything = ensure_named_fields_are_members(field_set(merged, atom), atom)
    remaining = ensure_named_fields_are_members(field_set(pruned, atom), atom).union(
        ensure_named_fields_are_members(claimed, atom)
    )
    pruned = remove_items(merged, everything.difference(remaining), atom)
    present = ensure_named_fields_are_members(field_set(pruned, atom), atom)
    return fields(remove_items(merged, everything.difference(present).intersection(last_fields), atom))


def ensure_named_fields_are_members(owned: FieldSet, atom: Atom | None) -> FieldSet:
    """Adds fields of structs that have owned fields below them.

    Mirrors `EnsureNamedFieldsAreMembers`.
    """
    kind = atom.map if atom is not None else None
    members = set(owned.members)
    children: dict[str, FieldSet] = {}
    for step, child in owned.children.items():
        inner = _child_atom(atom, step)
        if step.startswith("f:") and kind is not None and step[2:] in kind.known:
            members.add(step)
        children[step] = ensure_named_fields_are_members(child, inner)
    return FieldSet(members, children)


def _child_atom(atom: Atom | None, step: str) -> Atom | None:
    if atom is None:
        return None
    if step.startswith("f:"):
        return atom.map.at(step[2:]) if atom.map is not None else None
    return atom.list.element if atom.list is not None else None


def _reconcile_with_schema(owned: FieldSet, atom: Atom) -> FieldSet:
    """A claim below a field that is atomic now becomes a claim on the whole field."""
    members = set(owned.members)
    children: dict[str, FieldSet] = {}
    for step, child in owned.children.items():
        inner = _child_atom(atom, step)
        if inner is None:
            children[step] = child
        elif _is_atomic(inner):
            members.add(step)
        else:
            children[step] = _reconcile_with_schema(child, inner)
    return FieldSet(members, children)


def _is_atomic(atom: Atom) -> bool:
    if atom.map is not None:
        return atom.map.atomic
    return not atom.scalar and atom.list is not None and not atom.list.associative
