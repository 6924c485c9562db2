"""The queue entries and caches that the controller has for one Application."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from whysync.argocd.app_controller.operation_state import CompareWith
from whysync.argocd.compare.diff_cache import Memory
from whysync.argocd.hooks import wave_of
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import ref_of


class QueueState(msgspec.Struct, kw_only=True):
    """Mirrors the controller's queues, Argo CD 3.6: a queue has at most one entry per app."""

    queued: bool = True
    """Is the app in the refresh queue? Whether a refresh is due is auto_sync_reason when it is processed."""
    level: CompareWith | None = None
    """The highest refresh level that was requested since the last refresh."""
    delayed: dict[CompareWith, datetime] = msgspec.field(default_factory=dict[CompareWith, datetime])
    expires_at: datetime | None = None
    """When the comparison expires."""
    operate_at: datetime | None = None
    not_before: datetime | None = None
    """The end of the delay between two sync waves."""
    idle_inputs: tuple[object, ...] | None = None
    """The inputs of the last sync step, if it changed nothing."""
    repo_error_since: datetime | None = None
    auto_sync_reason: str = ""
    """The last decision of auto-sync."""
    waits_for: str = ""
    """What the deletion of the app waits for."""
    memory: Memory = msgspec.field(default_factory=Memory)
    memory_inputs: tuple[object, ...] = ()
    """The inputs for which `memory` is valid."""
    compared: bool = False
    targets: Sequence[Object] = ()
    """The manifests of the last refresh, with tracking metadata; empty if rendering failed."""
    _waves: tuple[Sequence[Object], dict[tuple[str, str, str], int]] | None = None

    def waves(self) -> dict[tuple[str, str, str], int]:
        """The sync wave of each object in Git, by group, kind and name."""
        if self._waves is None or self._waves[0] is not self.targets:
            refs = ((ref_of(target), target) for target in self.targets)
            waves = {(ref.group, ref.kind, ref.name): wave_of(target) for ref, target in refs}
            self._waves = self.targets, waves
        return self._waves[1]

    def request_refresh(self, level: CompareWith) -> None:
        self.level = level if self.level is None else max(self.level, level)
        self.queued = True

    def request_refresh_at(self, level: CompareWith, at: datetime) -> None:
        queued_at = self.delayed.get(level)
        self.delayed[level] = at if queued_at is None else min(queued_at, at)

    def enqueue_operation(self, at: datetime) -> None:
        """Adds the app to the operation queue; an earlier entry stays."""
        self.operate_at = at if self.operate_at is None else min(self.operate_at, at)

    def due_times(self) -> list[datetime]:
        times = list(self.delayed.values())
        if self.expires_at is not None:
            times.append(self.expires_at)
        if self.operate_at is not None:
            times.append(
                self.operate_at if self.not_before is None else max(self.operate_at, self.not_before)
            )
        return times

    def enqueue_due(self, now: datetime) -> None:
        """Moves delayed entries that are due into the refresh queue."""
        for level, at in list(self.delayed.items()):
            if at <= now:
                self.request_refresh(level)
                del self.delayed[level]
        if self.expires_at is not None and self.expires_at <= now:
            self.queued = True
            self.expires_at = None

    def is_operation_due(self, now: datetime) -> bool:
        return (
            self.operate_at is not None
            and self.operate_at <= now
            and (self.not_before is None or self.not_before <= now)
        )
