"""Values of objects as the API server prints them in error messages: its internal Go structs.

Error messages contain these instead of the manifest's fields: a changed Job template is printed as
`{"labels":…,"Spec":{"Volumes":null,…}}`. `data/internal.json` lists, in order, the fields of the internal
structs of Kubernetes 1.36; their types come from `kubernetes.schema`, where a field is found by its name,
ignoring case. In that list `Name=other` names the field of the manifest, `Name!` is not a pointer internally
although it is one in the API, and `@metadata` is the embedded ObjectMeta. Names in lower case are structs
that are printed as in the API, without their empty fields.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from whysync.golang.fmt import go_json, go_map
from whysync.golang.quantity import BadQuantity, canonical_quantity, quantity_value
from whysync.json_tree import Json, Missing, Object, fields, items
from whysync.kubernetes.schema import Type, type_named

_ZERO: dict[str, Json] = {
    "string": "",
    "bool": False,
    "int": 0,
    "float": 0,
    "quantity": "0",
    "int-or-string": 0,
}
_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


class _Member(NamedTuple):
    name: str
    sent_as: str
    kind: str
    pointer: bool
    type: Type | None
    omit_empty: bool


def internal(value: Json | Missing, struct: str) -> Json:
    """The value as the server prints it; `struct` is a type name such as `core/v1.PodSpec`."""
    return _struct(value, type_named(struct)) if isinstance(value, dict) else None


def internal_list(values: Json | Missing, struct: str) -> Json:
    return [internal(value, struct) for value in values] if isinstance(values, list) else None


def difference(old: Json, new: Json) -> str:
    """A unified diff of two internal trees, as it follows `… is immutable after creation`.

    Mirrors apimachinery `diff.Diff`.
    """
    old_lines, new_lines = (go_json(tree, indent=1).splitlines(keepends=True) for tree in (old, new))
    old_lines[-1], new_lines[-1] = old_lines[-1] + "\n", new_lines[-1] + "\n"
    import difflib

    lines = difflib.unified_diff(old_lines, new_lines, n=3)
    return "".join(line for line in lines if not line.startswith(("--- ", "+++ ")))


def _struct(value: Object, kind: Type) -> Json:
    members = _members(kind.name)
    if members is None:
        return value
    if kind.name == "core/v1.PodSpec":
        value = _with_host_fields(value)
    converted: Object = {}
    for member in members:
        if member.name == "@metadata":
            converted.update(fields(internal(fields(value.get("metadata")), "meta/v1.ObjectMeta")))
            continue
        item = value.get(member.sent_as)
        if member.omit_empty and item in (None, "", 0, [], {}):
            continue
        converted[member.name] = _value(item, member.kind, member.type, pointer=member.pointer)
    return converted


def _value(item: Json, kind: str, value_type: Type | None, *, pointer: bool) -> Json:
    if kind == "struct" and value_type is not None:
        if item is None and pointer:
            return None
        return _struct(fields(item), value_type)
    if kind == "list":
        element_type = value_type.element if value_type else None
        return _list(item, element_type) if isinstance(item, list) else None
    if kind == "map":
        element_type = value_type.element if value_type else None
        if not isinstance(item, dict):
            return None
        return go_map({key: _of(value, element_type) for key, value in item.items()})
    if item is None:
        return None if pointer else _ZERO.get(kind)
    return _of(item, value_type)


def _list(items: list[Json], element_type: Type | None) -> Json:
    return [_of(item, element_type) for item in items]


def _of(item: Json, value_type: Type | None) -> Json:
    if value_type is None:
        return item
    if value_type.kind in ("struct", "list", "map"):
        return _value(item, value_type.kind, value_type, pointer=value_type.pointer)
    if value_type.kind == "quantity":
        try:
            return canonical_quantity(str(item))
        except BadQuantity:
            return item
    return item


def _with_host_fields(spec: Object) -> Object:
    """The internal PodSpec has the host namespace fields in its security context, which is never null."""
    context = dict(fields(spec.get("securityContext")))
    context.update({name: spec[name] for name in _HOST_FIELDS if name in spec})
    return {**spec, "securityContext": context}


@cache
def _members(name: str) -> tuple[_Member, ...] | None:
    package, _, short = name.partition(".")
    line = _table().get(f"{package.partition('/')[0]}.{short}")
    if line is None:
        return None
    return tuple(_member(entry, type_named(name)) for entry in line.split())


def _member(entry: str, owner: Type) -> _Member:
    if entry == "@metadata":
        return _Member(entry, "metadata", "struct", pointer=False, type=None, omit_empty=False)
    name, _, sent_as = entry.partition("=")
    sent_as, _, plain = sent_as.partition(":")
    if plain:
        return _Member(
            name, sent_as, plain.lstrip("*"), pointer=plain.startswith("*"), type=None, omit_empty=False
        )
    is_value = name.endswith("!")
    name = name.rstrip("!")
    field = owner.struct.folded[(sent_as or name).lower()]
    return _Member(
        name,
        field.name,
        field.kind,
        pointer=field.type.pointer and not is_value,
        type=field.type,
        omit_empty=name[:1].islower() and (field.omit_empty or field.omit_zero),
    )


@cache
def _table() -> dict[str, str]:
    path = Path(__file__).with_name("data") / "internal.json"
    return msgspec.json.decode(path.read_bytes(), type=dict[str, str])


# Semantic equality of values in the API server.
#
# Mirrors apimachinery `equality.Semantic.DeepEqual`, Kubernetes 1.36, on JSON trees with their types: an
# empty list or map equals a missing one, a zero value equals a missing field unless the field is a pointer,
# and quantities are compared by amount.


# A nested object (a volume claim template) is equal with and without apiVersion and kind.
_NAMES_OF_KINDS = frozenset({"apiVersion", "kind"})
_ZERO_WITHOUT_QUANTITY = {kind: zero for kind, zero in _ZERO.items() if kind != "quantity"}


def same(old: Json | Missing, new: Json | Missing, struct: str) -> bool:
    """Are two values of a struct such as `core/v1.PodSpec` equal? An absent value is a null pointer."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return isinstance(old, dict) == isinstance(new, dict)
    return old is new or _same_struct(old, new, type_named(struct))


def same_plain(old: Json | Missing, new: Json | Missing) -> bool:
    """Equality of untyped lists, maps and scalars: an absent list or map equals an empty one."""
    try:
        return old == new or (not old and not new and _may_be_empty(old) and _may_be_empty(new))
    except RecursionError:
        return False


def _may_be_empty(value: Json | Missing) -> bool:
    return value is None or isinstance(value, (list, dict, Missing))


def _same_struct(old: dict[str, Json], new: dict[str, Json], kind: Type) -> bool:
    for name, field in kind.struct.fields.items():
        if name in _NAMES_OF_KINDS and "metadata" in kind.struct.fields:
            continue
        old_value, new_value = old.get(name), new.get(name)
        if old_value is not new_value and not _same_value(old_value, new_value, field.type):
            return False
    return True


def _same_value(old: Json, new: Json, kind: Type) -> bool:
    match kind.kind:
        case "struct":
            if kind.pointer and (old is None) != (new is None):
                return False
            return _same_struct(fields(old), fields(new), kind)
        case "list":
            old_items, new_items = items(old), items(new)
            return len(old_items) == len(new_items) and all(
                _same_value(old_item, new_item, kind.of)
                for old_item, new_item in zip(old_items, new_items, strict=True)
            )
        case "map":
            old_map, new_map = fields(old), fields(new)
            return old_map.keys() == new_map.keys() and all(
                _same_value(old_map[key], new_map[key], kind.of) for key in old_map
            )
        case "quantity":
            if kind.pointer and (old is None) != (new is None):
                return False
            return old == new or quantity_value(old) == quantity_value(new)
        case _:
            zero = None if kind.pointer else _ZERO_WITHOUT_QUANTITY.get(kind.kind)
            return same_plain(zero if old is None else old, zero if new is None else new)
