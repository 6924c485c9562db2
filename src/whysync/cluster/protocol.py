"""What the engine asks of a cluster: requests and answers, as the Kubernetes API has them.

One method carries all verbs, so that a model in memory and a real API server differ in nothing but who
answers. `Request.path` is the URL path; `verb` says what is done there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from whysync.contracts.tree import Json, Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    verb: str
    """`create`, `update`, `get`, `list`, `delete`, `deletecollection`, `merge-patch`, `strategic-patch`,
    `json-patch`, or `ssa` for server-side apply."""
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
    """`Strict`, `Warn` or `Ignore`; empty is the server's choice, `Warn`."""
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
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.code < 400


class Cluster(Protocol):
    def send(self, request: Request) -> Answer: ...

    def now(self) -> datetime: ...
