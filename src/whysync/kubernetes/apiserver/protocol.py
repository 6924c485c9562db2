"""Requests and responses of the Kubernetes API, and the `Cluster` protocol.

`Cluster.send` takes all verbs, so that the API server in memory and a real one are interchangeable.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from whysync.json_tree import Json, Object


class Request(msgspec.Struct, frozen=True, kw_only=True):
    verb: str
    """`create`, `update`, `get`, `list`, `delete`, `merge-patch`, `strategic-patch`, `json-patch`, or `ssa`
    for server-side apply."""
    path: str
    body: Json = None
    manager: str | None = None
    """The field manager; `None` when not sent. Writes fall back to `agent`, server-side apply does not."""
    agent: str = "client"
    user: str = ""
    """The user; empty means the administrator of the cluster."""
    groups: tuple[str, ...] = ()
    force: bool | None = None
    dry_run: bool = False
    validation: str = ""
    """`Strict`, `Warn` or `Ignore`; empty means the default, `Warn`. No warnings are returned."""
    grace: int | None = None
    """`gracePeriodSeconds` in the URL of a deletion."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    body: Object | None = None
    """The object, the list, or the Status of a failure."""
    text: str = ""
    """The text of a response that is not JSON."""

    @property
    def ok(self) -> bool:
        return self.code < 400


class ServedKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that the cluster serves, with its URL paths."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def collection(self, namespace: str = "") -> str:
        """The URL path of all its objects, or of those in a namespace."""
        prefix = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        namespace_path = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{prefix}{namespace_path}/{self.plural}"

    def path(self, namespace: str, name: str, subresource: str = "") -> str:
        url = f"{self.collection(namespace)}/{name}"
        return f"{url}/{subresource}" if subresource else url


class Cluster(Protocol):
    def send(self, request: Request) -> Answer: ...

    def kinds(self) -> Sequence[ServedKind]:
        """The kinds that are served now, including custom resources."""
        ...

    def now(self) -> datetime: ...


def kind_of(cluster: Cluster, api_version: str, kind: str) -> ServedKind | None:
    """The served kind of this apiVersion and kind; `None` if it is not served."""
    for served in cluster.kinds():
        if served.kind == kind and served.api_version == api_version:
            return served
    return None
