"""Semantic equality of values in the API server.

Mirrors apimachinery `equality.Semantic.DeepEqual`, Kubernetes 1.36, on JSON trees with their types: an
empty list or map equals a missing one, a zero value equals a missing field unless the field is a pointer,
and quantities are compared by amount.
"""

from __future__ import annotations

from whysync.golang.quantity import quantity_value
from whysync.json_tree import Json, Missing, fields, items
from whysync.kubernetes.schema import Type, type_named

# A nested object (a volume claim template) is equal with and without apiVersion and kind.
_NAMES_OF_KINDS = frozenset({"apiVersion", "kind"})
_ZERO: dict[str, Json] = {"string": "", "bool": False, "int": 0, "float": 0, "int-or-string": 0}


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
            zero = None if kind.pointer else _ZERO.get(kind.kind)
            return same_plain(zero if old is None else old, zero if new is None else new)
