"""What a sync needs of the cluster it works on, and nothing more.

The operation decides; a `ClusterOps` acts. It replaces `Kubectl`, `ResourceOperations` and the dynamic client
of gitops-engine: its messages are kubectl's (`deployment.apps/api configured`), its refusals have the texts
that Argo CD shows. It may keep objects in memory or talk to an API server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from whysync.argocd.health.assess import Assessment
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref


class Reason(StrEnum):
    """Why a request was refused, as far as a sync acts on it; Kubernetes knows many more."""

    NOT_FOUND = "NotFound"
    CONFLICT = "Conflict"
    ALREADY_EXISTS = "AlreadyExists"
    UNAUTHORIZED = "Unauthorized"
    OTHER = ""


class Refused(Exception):
    """A request that failed, with the text that Argo CD would show."""

    def __init__(self, message: str, *, reason: Reason = Reason.OTHER) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason

    def within(self, what: str) -> Refused:
        """The same refusal with a prefix that names the surrounding operation."""
        return Refused(f"{what}: {self.message}", reason=self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResource:
    """Discovery information of one kind."""

    namespaced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How one object is written.

    A dry run is always kubectl's own and asks the API server nothing that it would refuse: it finds unknown
    kinds and malformed objects, not immutable fields, admission or quotas.
    """

    dry_run: bool = False
    force: bool = False
    """Delete it and create it anew where it cannot be changed."""
    validate: bool = True
    server_side: bool = False
    manager: str = ""
    """The field manager, for server-side apply; conflicts are always won."""


class ClusterOps(Protocol):
    """Every method may raise `Refused`, but for `health` and `established`."""

    def discover(self, api_version: str, kind: str, verb: str) -> ApiResource:
        """Is the kind served, and does it know the verb? Refuses with `NOT_FOUND` where it is not.

        Mirrors gitops-engine `ServerResourceForGroupVersionKind`.
        """
        ...

    def kinds(self) -> Sequence[Ref]:
        """Group, version and kind of all that is served; the names are empty."""
        ...

    def get(self, ref: Ref) -> Object: ...

    def apply(self, obj: Object, mode: Mode) -> str:
        """`kubectl apply`; the answer is what kubectl prints."""
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
        """`None`: Argo CD has no opinion on such objects."""
        ...

    def established(self, definition: str) -> None:
        """Wait, for 3 seconds at most, until a CustomResourceDefinition is ready; a failure has no effect."""
        ...

    def pause(self, phase: str, wave: int, *, final: bool) -> None:
        """A wave was applied: unless it was the last, Argo CD waits (2 seconds, if told nothing else)."""
        ...
