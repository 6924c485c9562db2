"""One object as it was found: its raw tree, the part it plays, and where it came from."""

from __future__ import annotations

from enum import StrEnum

from whysync.json_tree import Json, Missing, Object, fields, text
from whysync.kubernetes.api import pointer as pointers
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
    """A raw object that must not be changed; `origin` is the file or response that it was read from."""

    __slots__ = ("_ref", "body", "cluster", "origin", "role")

    def __init__(self, body: Object, *, role: Role, origin: str = "", cluster: str = "") -> None:
        self.body = body
        self.role = role
        self.origin = origin
        self.cluster = cluster
        self._ref: Ref | None = None

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
    def uid(self) -> str:
        return text(self.meta.get("uid"))

    def at(self, pointer: str) -> Json | Missing:
        return pointers.resolve(self.body, pointer)

    def with_body(self, body: Object) -> Manifest:
        return Manifest(body, role=self.role, origin=self.origin, cluster=self.cluster)

    def __repr__(self) -> str:
        return f"<{self.role} {self.ref}>"
