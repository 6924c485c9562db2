"""What a diagnosis comes to: one `AppReport` per Application, and causes that many of them share."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.symptom import Side, Symptom
from whysync.facts.snapshot import Gap
from whysync.kubernetes.api.ref import Ref


class SyncSafety(StrEnum):
    SAFE = "safe"
    UNSAFE = "unsafe"
    UNKNOWN = "unknown"


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    refs: tuple[Ref, ...] = ()


class Safety(msgspec.Struct, frozen=True, kw_only=True):
    """Is it safe to sync now? `unknown` says why it could not be told."""

    sync: SyncSafety
    reasons: tuple[Reason, ...] = ()


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    needs: tuple[str, ...]


class Crashed(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    error: str


class AppReport(msgspec.Struct, frozen=True, kw_only=True):
    case: Case
    side: Side
    findings: tuple[Finding, ...]
    unexplained: tuple[Symptom, ...]
    safety: Safety
    gaps: tuple[Gap, ...]
    skipped: tuple[Skipped, ...]
    crashed: tuple[Crashed, ...]

    @property
    def name(self) -> str:
        return self.case.app.name

    @property
    def first(self) -> Finding | None:
        return self.findings[0] if self.findings else None

    @property
    def was_compared(self) -> bool:
        return bool(self.case.app.status.sync.status)

    @property
    def is_unsure(self) -> bool:
        """Evidence that matters was missing: then nothing found does not mean nothing wrong."""
        return bool(self.gaps or self.crashed) or not self.was_compared


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One cause that several Applications share, with the one fix for all of them where there is one.

    `what` says it without the names of single objects; `checked`: each of the apps was diagnosed again with
    the fix, and none of them had the cause any more.
    """

    cause: str
    rule: str
    apps: tuple[str, ...]
    what: str = ""
    fix: Fix | None = None
    checked: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True):
    apps: tuple[AppReport, ...]
    groups: tuple[Group, ...]
    unread: tuple[Gap, ...] = ()
