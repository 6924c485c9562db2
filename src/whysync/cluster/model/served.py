"""A kind that is served: how its bodies are read, defaulted, compared."""

from __future__ import annotations

from typing import Protocol

from whysync.cluster.model import autoscalers
from whysync.cluster.model.conversions import converted
from whysync.cluster.model.decoding import BadBody, decode, rewrite, zero_object
from whysync.cluster.model.failures import Refused, bad_request
from whysync.cluster.model.kinds import Resource
from whysync.contracts.tree import Object
from whysync.semantics.diff.defaults import with_defaults
from whysync.semantics.diff.typed import DEDUCED, Atom, atom_of
from whysync.semantics.diff.typed.schema import MapType
from whysync.semantics.schemas import Type, type_of


class Served(Protocol):
    resource: Resource

    @property
    def atom(self) -> Atom: ...

    @property
    def schema(self) -> Type | None:
        """The Go type, for strategic patches; custom resources have none."""
        ...

    def decode(self, body: Object) -> tuple[Object, list[str]]:
        """The object as it is written, and what it says beyond its type; raises `Refused`."""
        ...

    def defaulted(self, obj: Object) -> Object: ...

    def settled(self, obj: Object) -> Object:
        """As it comes back from the store."""
        ...

    def read(self, obj: Object) -> Object:
        """An object from the store, in this version."""
        ...

    def zero(self) -> Object: ...


class BuiltIn:
    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        kind = type_of(resource.api_version, resource.kind)
        assert kind is not None
        self._type = kind

    @property
    def atom(self) -> Atom:
        atom = atom_of(self._type)
        return _with_atomic_data(atom) if self.resource.kind == "ControllerRevision" else atom

    @property
    def schema(self) -> Type | None:
        return self._type

    def decode(self, body: Object) -> tuple[Object, list[str]]:
        try:
            return decode(body, self._type)
        except BadBody as problem:
            raise cannot_handle(self.resource, str(problem)) from None

    def defaulted(self, obj: Object) -> Object:
        obj = converted(obj, self.resource)
        filled = with_defaults(obj, self._type)
        return obj if filled == obj else rewrite(filled, self._type)

    def settled(self, obj: Object) -> Object:
        if self.resource.api_version == autoscalers.V1:
            obj = autoscalers.with_usual_share(obj)
        return rewrite(with_defaults(obj, self._type), self._type, stored=True)

    def read(self, obj: Object) -> Object:
        """An object from the store, in this version."""
        version = self.resource.api_version
        if obj.get("apiVersion") == version:
            return obj
        if version in {autoscalers.V1, autoscalers.V2}:
            return self.settled(autoscalers.in_version(obj, version))
        return {**obj, "apiVersion": version, "kind": self.resource.kind}

    def zero(self) -> Object:
        return zero_object(self._type, self.resource.api_version, self.resource.kind)


def _with_atomic_data(atom: Atom) -> Atom:
    """A revision's data is bytes to the server: owned as a whole."""
    assert atom.map is not None
    whole = Atom(map=MapType(known={}, element=DEDUCED, atomic=True))
    return Atom(map=MapType(known={**atom.map.known, "data": whole}))


def cannot_handle(resource: Resource, why: str) -> Refused:
    kind = resource.kind
    return bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}')
