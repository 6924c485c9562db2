"""The tables of types, unfolded as they are needed.

A field is one line of text, for example `[]Container|o|p=merge|k=name|l=name`:

- the type: a scalar, `*T` (pointer), `[]T` (list), `{}T` (map of strings to T), or the name of a struct, with
  its package (`core/v1.PodSpec`) unless it is the same one;
- `o` left out when empty, `z` left out when zero (Go's `omitempty`, `omitzero`);
- `p=` patch strategy and `k=` merge key of strategic merge patches;
- `l=a,b` a list keyed by these fields, `set`, or `atomic`, for server-side apply;
- `d=` default value, as JSON.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from whysync.json_tree import Json

_BOUNDS: Final = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
_DATA: Final = Path(__file__).with_name("data")
SCALARS: Final = frozenset(
    {"string", "bool", "float", "bytes", "quantity", "int-or-string", "time", "microtime", "duration", "raw"}
)


class _Table(msgspec.Struct):
    types: dict[str, dict[str, str]]
    atomic: frozenset[str]


class _Version(msgspec.Struct):
    package: str
    scheme: bool
    kinds: frozenset[str]


class Type:
    """`kind` is `struct`, `list`, `map`, `int`, or one of the scalars; a list or map has an `element`."""

    __slots__ = ("_struct", "bounds", "element", "kind", "name", "pointer")

    def __init__(self, kind: str, *, pointer: bool, element: Type | None = None, name: str = "") -> None:
        self.kind = kind
        self.pointer = pointer
        self.element = element
        self.name = name
        self.bounds: tuple[int, int] = (0, 0)
        self._struct: Struct | None = None

    @property
    def struct(self) -> Struct:
        """The fields, when `kind` is `struct`."""
        if self._struct is None:
            self._struct = struct_named(self.name)
        return self._struct

    @property
    def of(self) -> Type:
        """The type of the elements of a list or map."""
        assert self.element is not None
        return self.element

    def __repr__(self) -> str:
        return f"<{'*' if self.pointer else ''}{self.name or self.kind}{self.element or ''}>"


class Field:
    """One field of a struct.

    `merge_key`, `merges`, `replaces`, `retain_keys` are for strategic merge patches; `list_keys`, `is_set`,
    `atomic` for server-side apply (a list that is neither keyed nor a set is atomic).
    """

    __slots__ = (
        "atomic", "default", "is_set", "kind", "list_keys", "merge_key", "merges", "name", "omit_empty",
        "omit_zero", "replaces", "retain_keys", "type",
    )  # fmt: skip

    def __init__(self, name: str, line: str, package: str) -> None:
        kind, *marks = line.split("|")
        self.name = name
        self.type = _parse(kind, package)
        self.kind = self.type.kind
        self.omit_empty = "o" in marks
        self.omit_zero = "z" in marks
        self.merges = self.replaces = self.retain_keys = False
        self.merge_key = ""
        self.list_keys: tuple[str, ...] = ()
        self.is_set = "set" in marks
        self.atomic = "atomic" in marks
        self.default: Json = None
        for mark in marks:
            label, equals, value = mark.partition("=")
            if not equals:
                continue
            if label == "p":
                strategies = value.split(",")
                self.merges, self.replaces = "merge" in strategies, "replace" in strategies
                self.retain_keys = "retainKeys" in strategies
            elif label == "k":
                self.merge_key = value
            elif label == "l":
                self.list_keys = tuple(value.split(","))
            elif label == "d":
                self.default = msgspec.json.decode(value)


class Struct:
    """`name` carries the package: `core/v1.Container`. `folded` has the fields by name in lower case."""

    __slots__ = ("_fields", "_folded", "_lines", "atomic", "name", "package")

    def __init__(self, name: str, lines: dict[str, str], *, atomic: bool) -> None:
        self.name = name
        self.package = name.partition(".")[0]
        self.atomic = atomic
        self._lines = lines
        self._fields: dict[str, Field] | None = None
        self._folded: dict[str, Field] | None = None

    @property
    def fields(self) -> dict[str, Field]:
        if self._fields is None:
            self._fields = {name: Field(name, line, self.package) for name, line in self._lines.items()}
        return self._fields

    @property
    def folded(self) -> dict[str, Field]:
        if self._folded is None:
            self._folded = {name.lower(): field for name, field in self.fields.items()}
        return self._folded


def type_of(api_version: str, kind: str, *, in_scheme: bool = False) -> Type | None:
    """The type of a kind; with `in_scheme` only where client-go has it: these Argo CD canonicalises."""
    version = _index().get(api_version)
    if version is None or kind not in version.kinds or (in_scheme and not version.scheme):
        return None
    return type_named(f"{version.package}.{kind}")


def kinds() -> dict[str, frozenset[str]]:
    """All kinds, by `apiVersion`."""
    return {api_version: version.kinds for api_version, version in _index().items()}


@cache
def type_named(name: str) -> Type:
    """The type of a struct such as `core/v1.PodSpec`."""
    return Type("struct", pointer=False, name=name)


@cache
def struct_named(name: str) -> Struct:
    """Has no fields if only other releases have the type, see `releases`."""
    package, _, short = name.partition(".")
    table = _table(package)
    return Struct(name, table.types.get(short, {}), atomic=short in table.atomic)


@cache
def _parse(text: str, package: str) -> Type:
    pointer = text.startswith("*")
    if pointer:
        text = text[1:]
    if text.startswith("[]"):
        return Type("list", pointer=pointer, element=_parse(text[2:], package))
    if text.startswith("{}"):
        return Type("map", pointer=pointer, element=_parse(text[2:], package))
    if text in _BOUNDS:
        number_type = Type("int", pointer=pointer)
        number_type.bounds = _BOUNDS[text]
        return number_type
    if text in SCALARS:
        return Type(text, pointer=pointer)
    return Type("struct", pointer=pointer, name=text if "." in text else f"{package}.{text}")


@cache
def _index() -> dict[str, _Version]:
    return msgspec.json.decode(read_data("index"), type=dict[str, _Version])


@cache
def _table(package: str) -> _Table:
    try:
        data = read_data(package.replace("/", "."))
    except FileNotFoundError:
        return _Table(types={}, atomic=frozenset())
    return msgspec.json.decode(data, type=_Table)


def read_data(name: str) -> bytes:
    return (_DATA / f"{name}.json").read_bytes()
