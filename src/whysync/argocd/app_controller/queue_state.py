"""What the controller keeps of one Application beside the Application itself: its place in the queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from whysync.argocd.app_controller.operation_state import CompareWith
from whysync.argocd.compare.diff_memory import Memory
from whysync.argocd.hooks import wave_of
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import ref_of


@dataclass(slots=True, kw_only=True)
class QueueState:
    """Mirrors the controller's queues, Argo CD 3.6: of one app, each holds one entry at most."""

    queued: bool = True
    """To be looked at; whether that leads to a refresh is decided then."""
    level: CompareWith | None = None
    """The deepest comparison that was asked for since the last one."""
    later: dict[CompareWith, datetime] = field(default_factory=dict[CompareWith, datetime])
    look_at: datetime | None = None
    """When it is looked at again merely because time has passed."""
    operate_at: datetime | None = None
    not_before: datetime | None = None
    """A sync that pauses between two waves goes on no earlier than this."""
    idle: tuple[object, ...] | None = None
    """What the last step of a sync went by, where it changed nothing."""
    repo_error_since: datetime | None = None
    decided: str = ""
    """What auto-sync said last."""
    waits_for: str = ""
    """What its deletion waits for."""
    memory: Memory = field(default_factory=Memory)
    rules: tuple[object, ...] = ()
    """Under which the memory holds."""
    compared: bool = False
    targets: Sequence[Object] = ()
    """What was rendered for the last refresh, with its marks; nothing, where that failed."""
    _waves: tuple[Sequence[Object], dict[tuple[str, str, str], int]] | None = None

    def waves(self) -> dict[tuple[str, str, str], int]:
        """The wave of each object of Git, by group, kind and name."""
        if self._waves is None or self._waves[0] is not self.targets:
            refs = ((ref_of(target), target) for target in self.targets)
            waves = {(ref.group, ref.kind, ref.name): wave_of(target) for ref, target in refs}
            self._waves = self.targets, waves
        return self._waves[1]

    def ask(self, level: CompareWith) -> None:
        self.level = level if self.level is None else max(self.level, level)
        self.queued = True

    def ask_later(self, level: CompareWith, at: datetime) -> None:
        known = self.later.get(level)
        self.later[level] = at if known is None else min(known, at)

    def operate(self, at: datetime) -> None:
        """An entry that is there already stays, if it is earlier."""
        self.operate_at = at if self.operate_at is None else min(self.operate_at, at)

    def dues(self) -> list[datetime]:
        due_times = list(self.later.values())
        if self.look_at is not None:
            due_times.append(self.look_at)
        if self.operate_at is not None:
            due_times.append(
                self.operate_at if self.not_before is None else max(self.operate_at, self.not_before)
            )
        return due_times

    def wake(self, now: datetime) -> None:
        """What is due is moved into the queues."""
        for level, at in list(self.later.items()):
            if at <= now:
                self.ask(level)
                del self.later[level]
        if self.look_at is not None and self.look_at <= now:
            self.queued = True
            self.look_at = None

    def may_operate(self, now: datetime) -> bool:
        return (
            self.operate_at is not None
            and self.operate_at <= now
            and (self.not_before is None or self.not_before <= now)
        )
