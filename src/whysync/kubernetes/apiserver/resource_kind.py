"""Served kinds: decoding, defaulting and conversion of their objects."""

from __future__ import annotations

from typing import Final, Protocol

from whysync.json_tree import Object
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.conversion import (
    AUTOSCALING_V1,
    AUTOSCALING_V2,
    autoscaler_in_version,
    converted,
    event_in_group,
    with_default_cpu_percent,
)
from whysync.kubernetes.apiserver.decoding import BadBody, decode, rewrite, zero_object
from whysync.kubernetes.apiserver.status_errors import Refused, bad_request
from whysync.kubernetes.merge.structured import DEDUCED, Atom, atom_of
from whysync.kubernetes.merge.structured.schema import MapType
from whysync.kubernetes.schema import Type, type_of
from whysync.kubernetes.schema.defaults import with_defaults

_NOT_SPEC: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_DEFAULTED_AGAIN: Final = frozenset({"HorizontalPodAutoscaler", "Job"})
"""Kinds that are defaulted again before they are stored, because the server adds fields with defaults."""


class Served(Protocol):
    resource: Resource

    @property
    def atom(self) -> Atom: ...

    @property
    def schema(self) -> Type | None:
        """The Go type, for strategic patches; custom resources have none."""
        ...

    def decode(self, body: Object, live: Object | None = None) -> tuple[Object, list[str]]:
        """The decoded object, and its unknown fields; raises `Refused`.

        Here and below, values that are identical to those of `live` are not processed again.
        """
        ...

    def defaulted(self, obj: Object, live: Object | None = None) -> Object: ...

    def settled(self, obj: Object, live: Object | None = None) -> Object:
        """The object as it is stored."""
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
        if self.resource.kind == "PersistentVolume":
            return _with_granular_claim_ref(atom)
        return _with_atomic_data(atom) if self.resource.kind == "ControllerRevision" else atom

    @property
    def schema(self) -> Type | None:
        return self._type

    def decode(self, body: Object, live: Object | None = None) -> tuple[Object, list[str]]:
        try:
            return decode(body, self._type, live)
        except BadBody as problem:
            raise cannot_handle(self.resource, str(problem)) from None

    def defaulted(self, obj: Object, live: Object | None = None) -> Object:
        obj = converted(obj, self.resource)
        if (
            live is not None
            and has_same_spec(obj, live)
            and self.resource.kind not in _DEFAULTED_OUTSIDE_SPEC
        ):
            return obj
        filled = with_defaults(obj, self._type)
        return obj if filled == obj else rewrite(filled, self._type)

    def settled(self, obj: Object, live: Object | None = None) -> Object:
        if self.resource.api_version == AUTOSCALING_V1:
            obj = with_default_cpu_percent(obj)
        if self.resource.kind in _DEFAULTED_AGAIN:
            obj = with_defaults(obj, self._type)
        return rewrite(obj, self._type, stored=True, live=live)

    def read(self, obj: Object) -> Object:
        """An object from the store, in this version."""
        version = self.resource.api_version
        if obj.get("apiVersion") == version:
            return obj
        if self.resource.kind == "Event":
            return rewrite(event_in_group(obj, version), self._type)
        if version in {AUTOSCALING_V1, AUTOSCALING_V2}:
            return self.settled(with_defaults(autoscaler_in_version(obj, version), self._type))
        return {**obj, "apiVersion": version, "kind": self.resource.kind}

    def zero(self) -> Object:
        return zero_object(self._type, self.resource.api_version, self.resource.kind)


_DEFAULTED_OUTSIDE_SPEC = frozenset({"Namespace", "Node", "Service"})
"""Kinds with defaults in their metadata or status: a label, allocatable resources, the mode of an address."""


def has_same_spec(obj: Object, live: Object) -> bool:
    """Are all fields except metadata and status identical to those of the live object?"""
    return obj.keys() | _NOT_SPEC == live.keys() | _NOT_SPEC and all(
        live.get(key) is value for key, value in obj.items() if key not in _NOT_SPEC
    )


def _with_atomic_data(atom: Atom) -> Atom:
    """`data` of a ControllerRevision is atomic."""
    assert atom.map is not None
    atomic = Atom(map=MapType(known={}, element=DEDUCED, atomic=True))
    return Atom(map=MapType(known={**atom.map.known, "data": atomic}))


def _with_granular_claim_ref(atom: Atom) -> Atom:
    """Object references are atomic, except `claimRef` of a PersistentVolume."""
    assert atom.map is not None
    spec = atom.map.known["spec"]
    assert spec.map is not None
    claim = spec.map.known["claimRef"]
    assert claim.map is not None
    opened = Atom(map=MapType(known=claim.map.known))
    inner = Atom(map=MapType(known={**spec.map.known, "claimRef": opened}))
    return Atom(map=MapType(known={**atom.map.known, "spec": inner}))


def cannot_handle(resource: Resource, why: str) -> Refused:
    kind = resource.kind
    return bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}')
