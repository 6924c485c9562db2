"""Sets of field paths, in the shape of `managedFields`.

A path element is written as the API server writes it: `f:name` a field, `k:{"name":"x"}` a list item by its
keys, `v:"x"` a list item by its value, `i:0` a list item by its index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import msgspec

from whysync.json_tree import Json, Object

_keys_decoder: Final[msgspec.json.Decoder[Object]] = msgspec.json.Decoder(dict)


class FieldSet:
    """A set of paths: `members` are in the set themselves, `children` contain members."""

    __slots__ = ("children", "members")

    def __init__(self, members: Iterable[str] = (), children: dict[str, FieldSet] | None = None) -> None:
        self.members = set(members) if members else set[str]()
        self.children: dict[str, FieldSet] = {} if children is None else children

    @classmethod
    def of(cls, paths: Iterable[tuple[str, ...]]) -> FieldSet:
        field_set = cls()
        for path in paths:
            field_set.insert(path)
        return field_set

    def insert(self, path: tuple[str, ...]) -> None:
        """Adds a path; the empty path is ignored, because the object as a whole is not a field."""
        if not path:
            return
        node = self
        for step in path[:-1]:
            child = node.children.get(step)
            if child is None:
                child = node.children[step] = FieldSet()
            node = child
        node.members.add(path[-1])

    def graft(self, path: tuple[str, ...], below: FieldSet) -> None:
        """Adds `path` and, below it, all paths of another set."""
        self.insert(path)
        if path and (below.members or below.children):
            node = self
            for step in path[:-1]:
                node = node.children[step]
            existing = node.children.get(path[-1])
            node.children[path[-1]] = below if existing is None else existing.union(below)

    def __bool__(self) -> bool:
        return bool(self.members) or any(self.children.values())

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, FieldSet) and set(self.paths()) == set(other.paths())

    __hash__ = None  # type: ignore[assignment]  # mutable, so not hashable

    def paths(self, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        for member in self.members:
            yield (*prefix, member)
        for step, child in self.children.items():
            yield from child.paths((*prefix, step))

    def below(self, step: str) -> FieldSet:
        return self.children.get(step) or FieldSet()

    def has(self, path: tuple[str, ...]) -> bool:
        node = self
        for step in path[:-1]:
            child = node.children.get(step)
            if child is None:
                return False
            node = child
        return bool(path) and path[-1] in node.members

    def union(self, other: FieldSet) -> FieldSet:
        """The union; the same instance if the other set adds nothing, because sets are immutable."""
        changed: dict[str, FieldSet] = {}
        for step, child in other.children.items():
            own = self.children.get(step)
            combined = child if own is None else own.union(child)
            if combined is not own:
                changed[step] = combined
        if not changed and other.members <= self.members:
            return self
        return FieldSet(self.members | other.members, {**self.children, **changed})

    def intersection(self, other: FieldSet) -> FieldSet:
        shared = {
            step: child.intersection(other.children[step])
            for step, child in self.children.items()
            if step in other.children
        }
        return FieldSet(
            self.members & other.members, {step: child for step, child in shared.items() if child}
        )

    def difference(self, other: FieldSet, *, recursive: bool = False) -> FieldSet:
        """The difference; with `recursive`, also without what is below a member of the other set.

        The same instance if nothing is removed.
        """
        if not other.members and not other.children:
            return self
        children: dict[str, FieldSet] = {}
        changed = not self.members.isdisjoint(other.members)
        for step, child in self.children.items():
            if recursive and step in other.members:
                changed = True
                continue
            other_child = other.children.get(step)
            remaining = child if other_child is None else child.difference(other_child, recursive=recursive)
            if remaining:
                children[step] = remaining
            changed = changed or remaining is not child
        return FieldSet(self.members - other.members, children) if changed else self


def from_fields_v1(claim: Json) -> FieldSet:
    """The set of a `fieldsV1`; raises `ValueError` if it is invalid."""
    if claim is None:
        return FieldSet()
    if not isinstance(claim, dict):
        raise ValueError(f"expected an object, got {claim!r}")
    field_set = FieldSet()
    for name, inner in claim.items():
        if name == ".":
            continue
        step = canonical_step(name)
        child = from_fields_v1(inner)
        if not inner or (isinstance(inner, dict) and "." in inner):
            field_set.members.add(step)
        if child:
            field_set.children[step] = child
    return field_set


def to_fields_v1(owned: FieldSet) -> Object:
    """`fieldsV1` as the API server writes it, sorted."""
    encoded: Object = {}
    for step in sorted(owned.members | owned.children.keys()):
        child = owned.children.get(step)
        inner = to_fields_v1(child) if child else {}
        if inner and step in owned.members:
            inner = {".": {}, **inner}
        encoded[step] = inner
    return encoded


@lru_cache(maxsize=16384)
def canonical_step(name: str) -> str:
    kind, colon, rest = name[:1], name[1:2], name[2:]
    if colon != ":" or kind not in {"f", "k", "v", "i"}:
        raise ValueError("unknown path element type" if colon == ":" else f"missing colon: {name}")
    if kind in {"f", "i"}:
        return name
    try:
        return f"{kind}:{_written(msgspec.json.decode(rest))}"
    except msgspec.DecodeError as problem:
        raise ValueError(str(problem)) from None


def _written(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def key_step(keys: Object) -> str:
    return f"k:{_written(keys)}"


def value_step(value: Json) -> str:
    return f"v:{_written(value)}"


def keys_of(step: str) -> Object:
    """The key fields of a list item's step; empty for other steps."""
    return _keys_decoder.decode(step[2:]) if step.startswith("k:") else {}


def step_text(step: str) -> str:
    """A step as error messages print it: `.name`, `[name="x"]`, `[="x"]`, `[0]`."""
    kind, rest = step[0], step[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        return "[" + ",".join(f"{key}={_written(value)}" for key, value in keys_of(step).items()) + "]"
    return f"[={rest}]" if kind == "v" else f"[{rest}]"
