"""Results of lint: remarks for findings, and notes for what was not checked."""

from __future__ import annotations

import msgspec

from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import Edit
from whysync.kubernetes.api.ref import Ref


class AutoFix(msgspec.Struct, frozen=True, kw_only=True):
    """How to fix it in the file. Only a fix that keeps the meaning is `safe` and applied by `--fix`."""

    title: str
    edits: tuple[Edit, ...] = ()
    safe: bool = False


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A finding: the check sets what and where in the object; the runner adds the check and the file.

    A check may set a lower `severity` than its own, never a higher one.
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
        """Identifies the remark in a baseline, independent of line numbers."""
        return self.check, self.path, str(self.ref) if self.ref else "", self.field or ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was not checked, and why; `matters` if "no findings" would otherwise be misleading."""

    path: str
    why: str
    matters: bool = False


class Suppressed(msgspec.Struct, frozen=True, kw_only=True):
    remark: Remark
    reason: str
    how: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in a stable order: by file, line, check and text."""

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
