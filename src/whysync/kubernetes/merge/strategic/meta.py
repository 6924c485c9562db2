"""Patch metadata of fields, the directives of patches, and the order of list items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from whysync.golang.fmt import go_text
from whysync.json_tree import Json, Object
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.schema import Field, Type

PATCH: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_FROM: Final = "$deleteFromPrimitiveList"
ELEMENT_ORDER: Final = "$setElementOrder"


class BadPatch(DiffError):
    """A patch cannot be created or applied; the message is upstream's."""


def look_up(schema: Type, key: str) -> Field:
    """The field `key` of a struct; as in Go, its name may differ in case."""
    if schema.kind != "struct":
        raise BadPatch(
            "merging an object in json but data type is not struct, instead is: " + _go_kind(schema)
        )
    struct = schema.struct
    field = struct.fields.get(key) or struct.folded.get(key.lower())
    if field is None:
        name = struct.name.rpartition(".")[2]
        raise BadPatch(f'unable to find api field in struct {name} for the json field "{key}"')
    return field


def look_up_list(schema: Type, key: str) -> tuple[Field, Type]:
    """The field, and the type of its items."""
    field = look_up(schema, key)
    if field.type.kind != "list":
        raise BadPatch(f"expected slice or array type, but got: {_go_kind(schema)}")
    return field, field.type.of


def _go_kind(schema: Type) -> str:
    return {"list": "slice", "int": "int32", "raw": "struct"}.get(schema.kind, schema.kind)


def are_lists_of_maps(*lists: Sequence[Json]) -> bool:
    """Do these lists contain objects (or scalars)? They must agree, and lists of lists cannot be merged."""
    types: set[type] = {type(item) for items in lists for item in items}
    if not types:
        raise BadPatch("no elements in any of the given slices")
    if list in types:
        raise BadPatch("lists of lists are not supported")
    if len(types) > 1 and (dict in types or types - {int, float}):
        raise BadPatch(
            f"list element types are not identical: {go_text([list(sequence) for sequence in lists])}"
        )
    return dict in types


def key_of(item: Json, merge_key: str) -> Json:
    if not isinstance(item, dict):
        raise BadPatch(f"expected a map, but got: {go_text(item)}")
    if merge_key not in item:
        raise BadPatch(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def go_key_text(value: Json) -> str:
    """A scalar as Go's `%v` prints it: keys are compared as texts."""
    return value if isinstance(value, str) else go_text(value)


def identity(merge_key: str) -> Callable[[Json], Json]:
    """A function that returns the identity of a list item: its merge key, or the item itself."""
    return (lambda item: key_of(item, merge_key)) if merge_key else (lambda item: item)


def first_positions(items: Sequence[Json], identity_of: Callable[[Json], Json]) -> dict[str, int]:
    positions: dict[str, int] = {}
    for index, item in enumerate(items):
        positions.setdefault(go_key_text(identity_of(item)), index)
    return positions


def in_order(items: list[Json], order: Sequence[Json], identity_of: Callable[[Json], Json]) -> list[Json]:
    """`items` sorted as in `order`; deletions come last."""
    position = first_positions(order, identity_of)
    deletions = [item for item in items if isinstance(item, dict) and item.get(PATCH) == "delete"]
    stay = [item for item in items if not (isinstance(item, dict) and item.get(PATCH) == "delete")]
    stay.sort(key=lambda item: position.get(go_key_text(identity_of(item)), -1))
    return stay + deletions


def interleave(
    listed: list[Json], others: list[Json], server_order: Sequence[Json], identity_of: Callable[[Json], Json]
) -> list[Json]:
    """The listed items in their order, with the server's other items at their old positions among them."""
    position = first_positions(server_order, identity_of)
    merged: list[Json] = []
    other_index, listed_index = 0, 0
    while other_index < len(others) and listed_index < len(listed):
        other_position = position.get(go_key_text(identity_of(others[other_index])), -1)
        listed_position = position.get(go_key_text(identity_of(listed[listed_index])), -1)
        if other_position >= 0 and listed_position >= 0 and other_position < listed_position:
            merged.append(others[other_index])
            other_index += 1
        else:
            merged.append(listed[listed_index])
            listed_index += 1
    return merged + listed[listed_index:] + others[other_index:]


def without_directives(value: Json) -> Json:
    """The value without list items and maps that are directives."""
    if isinstance(value, dict):
        return {
            key: without_directives(item)
            for key, item in value.items()
            if not (isinstance(item, dict) and PATCH in item)
        }
    if isinstance(value, list):
        return [without_directives(item) for item in value if not (isinstance(item, dict) and PATCH in item)]
    return value


def delete_directive(merge_key: str, value: Json) -> Object:
    return {merge_key: value, PATCH: "delete"}
