"""Diagnose the apps of a fleet: many of them in one process per core, with the same result as in one."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from whysync.diagnosis.case import Case
from whysync.diagnosis.report import AppReport, Skipped
from whysync.facts.snapshot import Gap

Progress: TypeAlias = Callable[[str, int], None]
Diagnose: TypeAlias = Callable[[Case], AppReport]
MANY = 200
"""From this number of apps on, it pays to start processes."""
_FIRST = 20
"""Apps that are diagnosed before processes are started, so that these share modules and lookups."""
_COLLECT_EVERY = 50


def diagnosed(
    cases: Sequence[Case],
    diagnose: Diagnose,
    *,
    progress: Progress | None = None,
    partial: bool = False,
    processes: int = 0,
) -> tuple[tuple[AppReport, ...], bool]:
    """The reports in the order of the Cases, and whether Ctrl-C ended the work (with `partial`)."""
    processes = processes or (_cores() if len(cases) >= MANY else 1)
    found: dict[int, AppReport] = {}
    fleet = _Fleet(cases, diagnose)
    interrupted = False
    try:
        for at in range(len(cases) if processes == 1 else min(_FIRST, len(cases))):
            found[at] = fleet.report(at)
            _tell(progress, len(found))
        if len(found) < len(cases):
            from whysync.processes.forked import forked

            for at, parts in forked(fleet.parts, range(len(found), len(cases)), processes):
                found[at] = fleet.whole(at, parts)
                _tell(progress, len(found))
        for at in range(len(cases)):  # what a process left out, because it failed
            if at not in found:
                found[at] = fleet.report(at)
    except KeyboardInterrupt:
        if not partial or not found:
            raise
        interrupted = True
    finally:
        gc.unfreeze()
    return tuple(found[at] for at in sorted(found)), interrupted


def _cores() -> int:
    from whysync.processes.forked import cores

    return cores()


def _tell(progress: Progress | None, done: int) -> None:
    if progress is not None:
        progress("", done)


_Parts: TypeAlias = "tuple[object, ...]"
_NOT_SENT = ("case", "gaps")
_SENT = tuple(field for field in AppReport.__struct_fields__ if field not in _NOT_SENT)


class _Fleet:
    def __init__(self, cases: Sequence[Case], diagnose: Diagnose) -> None:
        self._cases = cases
        self._diagnose = diagnose
        self._skipped: dict[tuple[Skipped, ...], tuple[Skipped, ...]] = {}
        self._is_large = False

    def report(self, at: int) -> AppReport:
        """Diagnose one app; of a large bundle, nothing stays decoded."""
        case = self._cases[at]
        report = self._diagnose(case)
        if case.index.close():
            if not self._is_large:
                gc.freeze()  # the collector need not look at the facts again
                self._is_large = True
            if not report.findings and not report.unexplained:
                case.forget()
            if at % _COLLECT_EVERY == 0:
                gc.collect()  # simulations have cycles
                gc.freeze()  # what is left belongs to reports
        return report

    def parts(self, at: int) -> _Parts:
        """A report without what the other process has, and the gaps that only its findings have."""
        report = self.report(at)
        known = dict.fromkeys(self._cases[at].gaps)
        self._cases[at].forget()
        own_gaps = tuple(gap for gap in report.gaps if gap not in known)
        return (own_gaps, *(getattr(report, field) for field in _SENT))

    def whole(self, at: int, parts: _Parts) -> AppReport:
        own_gaps, *sent = parts
        values = dict(zip(_SENT, sent, strict=True))
        skipped = cast("tuple[Skipped, ...]", values["skipped"])
        values["skipped"] = self._skipped.setdefault(skipped, skipped)  # the same for most apps
        case = self._cases[at]
        gaps = tuple(dict.fromkeys((*case.gaps, *cast("tuple[Gap, ...]", own_gaps))))
        return AppReport(case=case, gaps=gaps, **values)  # pyright: ignore[reportArgumentType]  (by name)
