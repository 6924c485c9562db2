"""Names of objects: `Key` as Argo CD pairs them, `Ref` as people and reports cite them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from whysync.json_tree import Object, fields, text


class Key(NamedTuple):
    """What makes two objects the same one: the version does not."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}/{self.kind}/{self.namespace}/{self.name}"


class Ref(msgspec.Struct, frozen=True, kw_only=True, order=True):
    group: str = ""
    version: str = ""
    kind: str
    namespace: str = ""
    name: str
    cluster: str = ""

    @property
    def key(self) -> Key:
        return Key(self.group, self.kind, self.namespace, self.name)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def place(self) -> str:
        """`production/my-api`, or the bare name where there is no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.place}"


def group_of(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def version_of(api_version: str) -> str:
    return api_version.rpartition("/")[2]


def ref_of(body: Object, *, cluster: str = "") -> Ref:
    """The `Ref` of a raw object; absent parts are empty."""
    meta = fields(body.get("metadata"))
    group, _, version = text(body.get("apiVersion")).rpartition("/")
    return Ref(
        group=group,
        version=version,
        kind=text(body.get("kind")),
        namespace=text(meta.get("namespace")),
        name=text(meta.get("name")),
        cluster=cluster,
    )


def key_of(body: Object) -> Key:
    """`ref_of(body).key`, at half the price: a comparison asks for it many times."""
    meta = fields(body.get("metadata"))
    group = text(body.get("apiVersion")).rpartition("/")[0]
    return Key(group, text(body.get("kind")), text(meta.get("namespace")), text(meta.get("name")))
