"""One object as it was found: its raw tree, the part it plays, and where it came from."""

from __future__ import annotations

from enum import StrEnum

from msgspec import structs

from whysync.json_tree import Json, Missing, Object, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.packed_bodies import PackedBodies
from whysync.kubernetes.api.ref import Key, Ref, ref_of


class Role(StrEnum):
    """The role of an object in a diagnosis; also the `source` of evidence."""

    APPLICATION = "application"
    PROJECT = "project"
    SETTINGS = "settings"
    DESIRED = "desired"
    LIVE = "live"
    EVENT = "event"


class Manifest:
    """A raw object that must not be changed; `origin` is the file or response that it was read from.

    Of a large fleet the bodies are kept packed, and decoded while an app needs them.
    """

    __slots__ = (
        "_body",
        "_is_being_deleted",
        "_owners",
        "_packed",
        "_position",
        "_ref",
        "cluster",
        "origin",
        "role",
    )

    def __init__(self, body: Object, *, role: Role, origin: str = "", cluster: str = "") -> None:
        self._body: Object | None = body
        self._packed: PackedBodies | None = None
        self._position = 0
        self._owners: tuple[tuple[str, str], ...] = ()
        self._is_being_deleted = False
        self.role = role
        self.origin = origin
        self.cluster = cluster
        self._ref: Ref | None = None

    @classmethod
    def of_head(
        cls,
        ref: Ref,
        *,
        role: Role,
        origin: str,
        owners: tuple[tuple[str, str], ...],
        is_being_deleted: bool,
    ) -> Manifest:
        """An object whose body is not decoded; `pack` or `decode` must follow."""
        manifest = cls({}, role=role, origin=origin, cluster=ref.cluster)
        manifest._body, manifest._ref = None, ref
        manifest._owners, manifest._is_being_deleted = owners, is_being_deleted
        return manifest

    def decode(self, body: Object) -> None:
        """Keep this body, decoded."""
        self._body = body

    @property
    def body(self) -> Object:
        if self._body is not None:
            return self._body
        assert self._packed is not None
        opened = self._packed.opened
        return (self._packed.bodies() if opened is None else opened)[self._position]

    @property
    def is_packed(self) -> bool:
        return self._body is None

    @property
    def packed(self) -> PackedBodies | None:
        return self._packed if self._body is None else None

    def pack(self, packed: PackedBodies, position: int) -> None:
        """Keep the body only as one of these."""
        if self._body is not None:
            self._ref, self._owners, self._is_being_deleted = self.ref, self.owners, self.is_being_deleted
        self._packed, self._position, self._body = packed, position, None

    def unpack(self) -> Object:
        """The body, which stays decoded from now on and may be masked."""
        self._body = self.body
        return self._body

    def on_cluster(self, cluster: str) -> Manifest:
        """The same object, of this cluster."""
        other = Manifest({}, role=self.role, origin=self.origin, cluster=cluster)
        other._body, other._packed, other._position = self._body, self._packed, self._position
        other._owners, other._is_being_deleted = self._owners, self._is_being_deleted
        if self.is_packed:
            other._ref = structs.replace(self.ref, cluster=cluster)
        return other

    @property
    def ref(self) -> Ref:
        if self._ref is None:
            self._ref = ref_of(self.body, cluster=self.cluster)
        return self._ref

    @property
    def key(self) -> Key:
        return self.ref.key

    @property
    def meta(self) -> Object:
        return fields(self.body.get("metadata"))

    @property
    def annotations(self) -> Object:
        return fields(self.meta.get("annotations"))

    @property
    def labels(self) -> Object:
        return fields(self.meta.get("labels"))

    @property
    def spec(self) -> Object:
        return fields(self.body.get("spec"))

    @property
    def status(self) -> Object:
        return fields(self.body.get("status"))

    @property
    def owners(self) -> tuple[tuple[str, str], ...]:
        """Kind and name of each owner, for lookups that go through all objects."""
        if self.is_packed:
            return self._owners
        references = map(fields, items(self.meta.get("ownerReferences")))
        return tuple((text(owner.get("kind")), text(owner.get("name"))) for owner in references)

    @property
    def is_being_deleted(self) -> bool:
        return self._is_being_deleted if self.is_packed else bool(self.meta.get("deletionTimestamp"))

    @property
    def uid(self) -> str:
        return text(self.meta.get("uid"))

    def at(self, pointer: str) -> Json | Missing:
        return pointers.resolve(self.body, pointer)

    def with_body(self, body: Object) -> Manifest:
        return Manifest(body, role=self.role, origin=self.origin, cluster=self.cluster)

    def __repr__(self) -> str:
        return f"<{self.role} {self.ref}>"


def owner_of_kind(manifest: Manifest, kind: str) -> str:
    """The name of the first owner of this kind; empty if there is none."""
    return next((name for owner_kind, name in manifest.owners if owner_kind == kind), "")
