"""Trace of a simulated Argo CD: what it did and when. The lab shows it, and proofs read it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from whysync.kubernetes.api.ref import Ref


class TraceKind(StrEnum):
    REFRESHED = "refreshed"
    """The app was refreshed; `text` has the reason and the level."""
    STATUS = "status"
    """Sync or health status changed; `text` has both (`OutOfSync, Missing`), `status` the sync status."""
    CONDITION = "condition"
    """A condition was set, or its message changed."""
    CLEARED = "cleared"
    """A condition was removed."""
    AUTO_SYNC = "auto-sync"
    """The decision of auto-sync, if it changed since the last refresh."""
    STARTED = "started"
    STEP = "step"
    """The message of the operation changed."""
    RESULT = "result"
    """The sync result of a resource."""
    RETRY = "retry"
    ENDED = "ended"
    DENIED = "denied"
    """Argo CD's API server denied a request of a user."""
    DELETED = "deleted"


class TraceEvent(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    app: str
    """Qualified: `argocd/shop`."""
    kind: TraceKind
    text: str = ""
    about: Ref | None = None
    phase: str = ""
    """The phase of the operation, or the sync phase of the resource (`PreSync`, `Sync`, …)."""
    wave: int | None = None
    status: str = ""
    """The status of a resource result (`SyncFailed`, …), the type of a condition, or the sync status."""

    def __str__(self) -> str:
        about = f" {self.about}" if self.about is not None else ""
        return f"{self.at:%H:%M:%S} {self.app}: {self.kind}{about} {self.text}".rstrip()
