"""Types of values: scalar, list, map, or several of these."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from whysync.json_tree import MISSING, Json, Missing, Object, fields, items, text
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.schema import Field, Type, type_named, type_of

_SCALARS: Final = {
    "string": "string", "bytes": "string", "duration": "string", "bool": "boolean", "int": "numeric",
    "float": "numeric", "quantity": "untyped", "int-or-string": "untyped", "time": "untyped",
    "microtime": "untyped",
}  # fmt: skip
_JSON_SCALARS: Final = {"string": "string", "boolean": "boolean", "integer": "numeric", "number": "numeric"}


class ListType:
    """Atomic, or items known by their `keys`, or (associative without keys) by their value."""

    __slots__ = ("associative", "element", "keys")

    def __init__(self, element: Atom, *, associative: bool, keys: tuple[str, ...] = ()) -> None:
        self.element = element
        self.associative = associative
        self.keys = keys


class MapType:
    """Declared fields, and the type of all other keys, if others are allowed."""

    __slots__ = ("_known", "atomic", "element", "struct")

    def __init__(
        self,
        *,
        known: dict[str, Atom] | None = None,
        struct: Type | None = None,
        element: Atom | None = None,
        atomic: bool = False,
    ) -> None:
        self._known = known
        self.struct = struct
        self.element = element
        self.atomic = atomic

    @property
    def known(self) -> dict[str, Atom]:
        if self._known is None:
            members = {} if self.struct is None else self.struct.struct.fields
            self._known = {name: _atom_of_field(field) for name, field in members.items()}
        return self._known

    def at(self, key: str) -> Atom | None:
        return self.known.get(key) or self.element


class Atom:
    __slots__ = ("default", "list", "map", "scalar")

    def __init__(
        self,
        *,
        scalar: str = "",
        list: ListType | None = None,
        map: MapType | None = None,
        default: Json | Missing = MISSING,
    ) -> None:
        self.scalar = scalar
        self.list = list
        self.map = map
        self.default = default

    def form(self, value: Json | Missing) -> str:
        """The form that applies to a value; if none fits, its first form (and validation fails)."""
        shape = value.__class__
        if shape is dict:
            if self.map is not None:
                return "map"
        elif shape is list:
            if self.list is not None:
                return "list"
        elif self.scalar and value is not None and shape is not Missing:
            return "scalar"
        return "map" if self.map is not None else "scalar" if self.scalar else "list"


def _untyped(*, atomic: bool) -> Atom:
    atom = Atom(scalar="untyped")
    list_element = atom if atomic else _ATOMIC
    atom.list = ListType(list_element, associative=False)
    atom.map = MapType(known={}, element=atom, atomic=atomic)
    return atom


_ATOMIC: Final = _untyped(atomic=True)
DEDUCED: Final = _untyped(atomic=False)


@cache
def atom_of(kind: Type) -> Atom:
    """The atom of a built-in type."""
    return _atom(kind, None)


def _atom_of_field(field: Field) -> Atom:
    atom = _atom(field.type, field)
    default = _default(field)
    if isinstance(default, Missing):
        return atom
    return Atom(scalar=atom.scalar, list=atom.list, map=atom.map, default=default)


def _default(field: Field) -> Json | Missing:
    """The default of a field; for a field that Go always writes, its zero value."""
    if field.default is not None:
        return field.default
    if field.omit_empty or field.type.pointer:
        return MISSING
    return {"string": "", "int": 0, "bool": False}.get(field.type.kind, MISSING)


def _atom(kind: Type, field: Field | None) -> Atom:
    atomic = field is not None and field.atomic
    match kind.kind:
        case "struct":
            return _struct_atom(kind.name, atomic=atomic or kind.struct.atomic)
        case "list":
            keys = field.list_keys if field is not None else ()
            associative = bool(keys) or (field is not None and field.is_set)
            return Atom(list=ListType(_atom(kind.of, None), associative=associative, keys=keys))
        case "map":
            return Atom(map=MapType(known={}, element=_atom(kind.of, None), atomic=atomic))
        case "raw":  # mostly an object, but a default in the schema of a definition may be any JSON
            atomic_list = ListType(_ATOMIC, associative=False)
            return Atom(scalar="untyped", list=atomic_list, map=MapType(known={}, element=DEDUCED))
        case _:
            return Atom(scalar=_SCALARS[kind.kind])


@cache
def _struct_atom(name: str, *, atomic: bool) -> Atom:
    return Atom(map=MapType(struct=type_named(name), atomic=atomic))


class Schemas:
    """The types of custom resources, read from their definitions."""

    def __init__(self) -> None:
        self._atoms: dict[tuple[str, str], Atom] = {}

    def add_definitions(self, crds: Iterable[Object]) -> None:
        """CustomResourceDefinitions of `apiextensions.k8s.io/v1`."""
        for crd in crds:
            spec = fields(crd.get("spec"))
            kind = text(fields(spec.get("names")).get("kind"))
            for version in items(spec.get("versions")):
                name = f"{text(spec.get('group'))}/{text(fields(version).get('name'))}"
                schema = fields(fields(fields(version).get("schema")).get("openAPIV3Schema"))
                self._atoms[name, kind] = _root(_schema_atom(schema))

    def atom(self, api_version: str, kind: str) -> Atom | None:
        """A built-in kind's own type comes first, as upstream's does."""
        built_in = type_of(api_version, kind)
        return atom_of(built_in) if built_in is not None else self._atoms.get((api_version, kind))


class LazySchemas(Schemas):
    """Schemas that read a definition when one of its objects is compared for the first time.

    Differs: Argo CD has all types of its cluster; here, a type without a definition in the facts is deduced.
    """

    def __init__(self, definitions: Iterable[Object]) -> None:
        super().__init__()
        self._unread: dict[tuple[str, str], Object] = {}
        for body in definitions:
            spec = fields(body.get("spec"))
            self._unread[text(spec.get("group")), text(fields(spec.get("names")).get("kind"))] = body

    def atom(self, api_version: str, kind: str) -> Atom:
        unread = self._unread.pop((group_of(api_version), kind), None)
        if unread is not None:
            self.add_definitions([unread])
        return super().atom(api_version, kind) or DEDUCED


def _root(atom: Atom) -> Atom:
    """The root of a custom resource, with the standard metadata whatever its schema declares."""
    known = dict(atom.map.known) if atom.map is not None else {}
    known["metadata"] = atom_of(type_named("meta/v1.ObjectMeta"))
    known["apiVersion"] = known["kind"] = Atom(scalar="string")
    element = atom.map.element if atom.map is not None else DEDUCED
    return Atom(map=MapType(known=known, element=element))


def _schema_atom(schema: Object) -> Atom:
    """The type of a value, from its JSON schema."""
    atom = _without_default(schema)
    default = schema.get("default")
    if default is None:
        return atom
    return Atom(scalar=atom.scalar, list=atom.list, map=atom.map, default=default)


def _without_default(schema: Object) -> Atom:
    if schema.get("x-kubernetes-int-or-string"):
        return Atom(scalar="untyped")
    kind = text(schema.get("type"))
    if kind in _JSON_SCALARS:
        number = schema.get("format") == "int-or-string"
        return Atom(scalar="untyped" if number else _JSON_SCALARS[kind])
    if kind == "array":
        return _list(schema)
    if kind == "object" or "properties" in schema or "additionalProperties" in schema:
        return _map(schema)
    return DEDUCED


def _list(schema: Object) -> Atom:
    element = _schema_atom(fields(schema.get("items")))
    list_type = schema.get("x-kubernetes-list-type")
    keys = tuple(text(key) for key in items(schema.get("x-kubernetes-list-map-keys")))
    return Atom(
        list=ListType(
            element, associative=list_type in {"map", "set"}, keys=keys if list_type == "map" else ()
        )
    )


def _map(schema: Object) -> Atom:
    properties = fields(schema.get("properties"))
    others = schema.get("additionalProperties")
    element: Atom | None = None
    if isinstance(others, dict) and others:
        element = _schema_atom(others)
    elif others is True or schema.get("x-kubernetes-preserve-unknown-fields") or not properties:
        element = DEDUCED
    known = {name: _schema_atom(fields(inner)) for name, inner in properties.items()}
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    return Atom(map=MapType(known=known, element=element, atomic=atomic))
