"""Names of objects: `Key` as Argo CD pairs them, `Ref` as people and reports cite them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from whysync.json_tree import Object


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
    api_version, kind, namespace, name = _names(body)
    group, _, version = api_version.rpartition("/")
    return Ref(group=group, version=version, kind=kind, namespace=namespace, name=name, cluster=cluster)


def key_of(body: Object) -> Key:
    """`ref_of(body).key`, at half the price: a comparison asks for it many times."""
    api_version, kind, namespace, name = _names(body)
    return Key(api_version.rpartition("/")[0], kind, namespace, name)


def _names(body: Object) -> tuple[str, str, str, str]:
    """Without function calls for each name, because every comparison reads those of all objects."""
    api_version, kind, meta = body.get("apiVersion"), body.get("kind"), body.get("metadata")
    namespace, name = (meta.get("namespace"), meta.get("name")) if isinstance(meta, dict) else ("", "")
    return (
        api_version if isinstance(api_version, str) else "",
        kind if isinstance(kind, str) else "",
        namespace if isinstance(namespace, str) else "",
        name if isinstance(name, str) else "",
    )
