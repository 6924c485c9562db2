"""What Argo CD did and when, moment by moment: for a live picture of a run, and for proofs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from whysync.kubernetes.api.ref import Ref


class TraceKind(StrEnum):
    REFRESHED = "refreshed"
    """The app was looked at; `text` says for what reason, and how deep."""
    STATUS = "status"
    """Sync or health changed: `OutOfSync, Missing`."""
    CONDITION = "condition"
    """A condition was set, or its message changed."""
    CLEARED = "cleared"
    """A condition is gone."""
    AUTO_SYNC = "auto-sync"
    """What auto-sync decided, where that changed since the last refresh."""
    STARTED = "started"
    STEP = "step"
    """The operation went on: its message changed."""
    RESULT = "result"
    """What became of one resource in the operation."""
    RETRY = "retry"
    ENDED = "ended"
    DENIED = "denied"
    """A request of a user that Argo CD's API server refused."""
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvent:
    at: datetime
    app: str
    """Qualified: `argocd/shop`."""
    what: TraceKind
    text: str = ""
    about: Ref | None = None
    phase: str = ""
    """Of the operation, or of the sync in which the resource was handled (`PreSync`, `Sync`, …)."""
    wave: int | None = None
    status: str = ""
    """Of a resource result: `Synced`, `SyncFailed`, …; of a condition: its type."""

    def __str__(self) -> str:
        about = f" {self.about}" if self.about is not None else ""
        return f"{self.at:%H:%M:%S} {self.app}: {self.what}{about} {self.text}".rstrip()
