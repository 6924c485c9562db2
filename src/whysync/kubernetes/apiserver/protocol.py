"""What the engine asks of a cluster: requests and answers, as the Kubernetes API has them.

One method carries all verbs, so that a model in memory and a real API server differ in nothing but who
answers. `Request.path` is the URL path; `verb` says what is done there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from whysync.json_tree import Json, Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    verb: str
    """`create`, `update`, `get`, `list`, `delete`, `deletecollection`, `merge-patch`, `strategic-patch`,
    `json-patch`, `watch`, or `ssa` for server-side apply."""
    path: str
    body: Json = None
    manager: str | None = None
    """The field manager; `None` when not sent. Writes fall back to `agent`, server-side apply does not."""
    agent: str = "client"
    user: str = ""
    """Who asks; empty is the administrator of the cluster."""
    groups: tuple[str, ...] = ()
    force: bool | None = None
    dry_run: bool = False
    validation: str = ""
    """`Strict`, `Warn` or `Ignore`; empty is the server's choice, `Warn`. No warnings are returned."""
    raw: str | None = None
    """The body as text, where that matters: it is parsed as the server would, in place of `body`."""
    content_type: str = ""
    grace: int | None = None
    """`gracePeriodSeconds` of a deletion, where it was asked for in the URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    code: int
    body: Object | None = None
    """The object, the list, or the Status of a failure."""
    text: str = ""
    """What was said where the answer is no JSON."""

    @property
    def ok(self) -> bool:
        return self.code < 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedKind:
    """A kind that the cluster serves, and where."""

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
        space = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{prefix}{space}/{self.plural}"

    def path(self, namespace: str, name: str, subresource: str = "") -> str:
        whole = f"{self.collection(namespace)}/{name}"
        return f"{whole}/{subresource}" if subresource else whole


class Cluster(Protocol):
    def send(self, request: Request) -> Answer: ...

    def kinds(self) -> Sequence[ServedKind]:
        """What can be asked for now; definitions of custom resources add to it."""
        ...

    def now(self) -> datetime: ...


def kind_of(cluster: Cluster, api_version: str, kind: str) -> ServedKind | None:
    """The kind under which an object with these two would be sent; `None` where it is not served."""
    for served in cluster.kinds():
        if served.kind == kind and served.api_version == api_version:
            return served
    return None
