"""What lint has to say: one remark for each thing that is wrong, notes for what it did not look at."""

from __future__ import annotations

import msgspec

from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import Edit
from whysync.kubernetes.api.ref import Ref


class AutoFix(msgspec.Struct, frozen=True, kw_only=True):
    """How to mend it in the file. Only what keeps its meaning is `safe`, and done by `--fix`."""

    title: str
    edits: tuple[Edit, ...] = ()
    safe: bool = False


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A check fills in what and where in the object; the runner adds who says it, and where in the file.

    A check may give a milder `severity` than its own, never a harsher one.
    """

    message: str
    field: str | None = None
    ref: Ref | None = None
    hint: str = ""
    mend: AutoFix | None = None
    path: str = ""
    line: int = 0
    document: int = -1
    inside: tuple[str, ...] = ()
    check: str = ""
    severity: Severity = Severity.CRITICAL

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What stays the same when lines move: the name under which a baseline knows it."""
        return self.check, self.path, str(self.ref) if self.ref else "", self.field or ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was not looked at, and why; `matters` where a clean answer would promise too much."""

    path: str
    why: str
    matters: bool = False


class Suppressed(msgspec.Struct, frozen=True, kw_only=True):
    remark: Remark
    reason: str
    how: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in a stable order: by file, line, check and words."""

    remarks: tuple[Remark, ...] = ()
    notes: tuple[Note, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    files: int = 0
    objects: int = 0
    in_baseline: int = 0

    def count(self, severity: Severity) -> int:
        return sum(1 for remark in self.remarks if remark.severity is severity)


def in_order(remarks: list[Remark]) -> tuple[Remark, ...]:
    return tuple(
        sorted(remarks, key=lambda one: (one.path, one.line, one.check, one.field or "", one.message))
    )
