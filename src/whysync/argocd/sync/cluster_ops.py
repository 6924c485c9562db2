"""The interface through which a sync reads and writes its cluster.

`ClusterOps` replaces `Kubectl`, `ResourceOperations` and the dynamic client of gitops-engine: its messages
are kubectl's (`deployment.apps/api configured`), its errors have the texts that Argo CD shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from whysync.argocd.health.assess import Assessment
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref


class Reason(StrEnum):
    """The reasons of refused requests that a sync distinguishes."""

    NOT_FOUND = "NotFound"
    CONFLICT = "Conflict"
    ALREADY_EXISTS = "AlreadyExists"
    UNAUTHORIZED = "Unauthorized"
    OTHER = ""


class Refused(Exception):
    """A request that failed, with the text that Argo CD shows."""

    def __init__(self, message: str, *, reason: Reason = Reason.OTHER) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason

    def within(self, prefix: str) -> Refused:
        """The same refusal with a prefix that names the surrounding operation."""
        return Refused(f"{prefix}: {self.message}", reason=self.reason)


class ApiResource(msgspec.Struct, frozen=True, kw_only=True):
    """Discovery information of one kind."""

    namespaced: bool


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """How one object is written.

    A dry run is always kubectl's own and asks the API server nothing that it would refuse: it finds unknown
    kinds and malformed objects, not immutable fields, admission or quotas.
    """

    dry_run: bool = False
    force: bool = False
    """Delete and recreate the object if it cannot be changed."""
    validate: bool = True
    server_side: bool = False
    manager: str = ""
    """The field manager for server-side apply, which forces conflicts."""


class ClusterOps(Protocol):
    """Every method except `health` may raise `Refused`."""

    def discover(self, api_version: str, kind: str, verb: str) -> ApiResource:
        """Discovery information of a kind that supports the verb; otherwise `Refused` with `NOT_FOUND`.

        Mirrors gitops-engine `ServerResourceForGroupVersionKind`.
        """
        ...

    def kinds(self) -> Sequence[Ref]:
        """Group, version and kind of all served resources; the names are empty."""
        ...

    def get(self, ref: Ref) -> Object: ...

    def apply(self, obj: Object, mode: Mode) -> str:
        """`kubectl apply`; returns its output."""
        ...

    def create(self, obj: Object, mode: Mode) -> str: ...

    def replace(self, obj: Object, mode: Mode) -> str: ...

    def update(self, obj: Object, *, dry_run: bool) -> None:
        """A plain PUT."""
        ...

    def patch(self, ref: Ref, patch: list[Json]) -> None:
        """A JSON patch (RFC 6902)."""
        ...

    def delete(self, ref: Ref, propagation: Propagation) -> None: ...

    def health(self, obj: Object) -> Assessment | None:
        """`None` if Argo CD has no health check for the kind."""
        ...

    def pause(self, phase: str, wave: int, *, final: bool) -> None:
        """Called after each wave; unless it is the final one, Argo CD waits (by default 2 seconds)."""
        ...
