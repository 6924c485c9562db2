"""When two values count as the same for the API server.

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


def same(left: Json | Missing, right: Json | Missing, struct: str) -> bool:
    """Are two values of a struct such as `core/v1.PodSpec` the same? An absent one is a null pointer."""
    if not isinstance(left, dict) or not isinstance(right, dict):
        return isinstance(left, dict) == isinstance(right, dict)
    return left is right or _same_struct(left, right, type_named(struct))


def same_plain(left: Json | Missing, right: Json | Missing) -> bool:
    """The same for lists, maps and scalars without a type: nothing and an empty one are the same."""
    try:
        return left == right or (not left and not right and _may_be_empty(left) and _may_be_empty(right))
    except RecursionError:
        return False


def _may_be_empty(value: Json | Missing) -> bool:
    return value is None or isinstance(value, (list, dict, Missing))


def _same_struct(left: dict[str, Json], right: dict[str, Json], kind: Type) -> bool:
    for name, field in kind.struct.fields.items():
        if name in _NAMES_OF_KINDS and "metadata" in kind.struct.fields:
            continue
        old, new = left.get(name), right.get(name)
        if old is not new and not _same_value(old, new, field.type):
            return False
    return True


def _same_value(left: Json, right: Json, kind: Type) -> bool:
    match kind.kind:
        case "struct":
            if kind.pointer and (left is None) != (right is None):
                return False
            return _same_struct(fields(left), fields(right), kind)
        case "list":
            old, new = items(left), items(right)
            return len(old) == len(new) and all(
                _same_value(old_item, other, kind.of) for old_item, other in zip(old, new, strict=True)
            )
        case "map":
            before, after = fields(left), fields(right)
            return before.keys() == after.keys() and all(
                _same_value(before[key], after[key], kind.of) for key in before
            )
        case "quantity":
            if kind.pointer and (left is None) != (right is None):
                return False
            return left == right or quantity_value(left) == quantity_value(right)
        case _:
            zero = None if kind.pointer else _ZERO.get(kind.kind)
            return same_plain(zero if left is None else left, zero if right is None else right)
