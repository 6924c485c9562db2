"""Which facts, and which of the apps: `--bundle`, `-l`, `--project`, `--sync`, `--cause` and the like."""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from whysync import app
from whysync.argocd.api.application import HealthCode, SyncCode
from whysync.diagnosis.case import Case
from whysync.diagnosis.report import AppReport, Report
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.errors import UsageError
from whysync.facts.bundle.limits import BundleLimits
from whysync.reports.list_view import row_of
from whysync.reports.output import err

T = TypeVar("T")
# Seconds until a reader is told that there is more to come.
_PATIENCE = 1.0


def facts(options: argparse.Namespace) -> SnapshotIndex:
    """The facts, with a line on how far it is where somebody watches a terminal."""
    place = place_of(options)
    return with_progress(lambda progress: app.read(place, progress=progress))


def with_progress(work: Callable[[app.Progress | None], T]) -> T:
    if not err().is_terminal:
        return work(None)
    progress = _Progress()
    try:
        return work(progress)
    finally:
        progress.wipe()


def place_of(options: argparse.Namespace) -> app.FactSource:
    if not options.bundle:
        from whysync.cli.sources import live_place

        return live_place(options, os.environ)
    usual = BundleLimits()
    limits = BundleLimits(
        unpacked_bytes=options.max_size or usual.unpacked_bytes,
        file_bytes=options.max_file_size or usual.file_bytes,
        files=options.max_files or usual.files,
    )
    return app.FactSource(bundles=tuple(options.bundle), stdin=sys.stdin.buffer, limits=limits)


class _Progress:
    """On a terminal, anything slow says how far it is; the line is wiped when it is done."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def __call__(self, name: str, unpacked: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PATIENCE / 4
            self._shown = True
            err().progress(f"reading {name[:60]}: {unpacked / 1e6:,.0f} MB so far")

    def wipe(self) -> None:
        if self._shown:
            err().progress("")


def chosen(cases: Sequence[Case], options: argparse.Namespace) -> tuple[Case, ...]:
    """What can be told before a diagnosis; `--cause` and the other columns come after it."""
    wanted = _labels(options.selector) if options.selector else ()
    return tuple(case for case in cases if all(test(case.app.metadata.labels) for test in wanted))


def chosen_by_column(report: Report, options: argparse.Namespace) -> Report:
    """Values are compared as whole words, without regard to case; `*` stands for anything."""
    columns = {
        name: values
        for name in ("project", "cluster", "namespace", "destination", "sync", "health", "policy", "cause")
        if (values := getattr(options, name))
    }
    conditions: list[str] = options.condition or []
    for name, known in _CLOSED.items():
        _expect(name, columns.get(name, ()), known)

    def fits(one: AppReport) -> bool:
        row = row_of(one)
        return all(_any(str(getattr(row, name)), values) for name, values in columns.items()) and (
            not conditions or any(_any(kind, conditions) for kind in row.conditions.split(","))
        )

    if not columns and not conditions:
        return report
    apps = tuple(app for app in report.apps if fits(app))
    return msgspec.structs.replace(report, apps=apps, groups=app.in_common(apps))


_CLOSED = {"sync": tuple(SyncCode), "health": tuple(HealthCode)}


def _expect(name: str, patterns: Sequence[str], known: Sequence[str]) -> None:
    """A typo must not read as "no app has this trouble"."""
    for pattern in patterns:
        if not any(_any(value, [pattern]) for value in known):
            raise UsageError(
                what=f"--{name} {pattern!r} is nothing that Argo CD says",
                why=f"it says {', '.join(known)}",
                next="correct it; * stands for anything",
            )


def _any(value: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(value.lower(), pattern.lower()) for pattern in patterns)


_KEY = r"[\w./-]+"
_ONE_OF = rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)"
_EQUAL = rf"({_KEY})\s*(==?|!=)\s*([\w.-]*)"
_THERE = rf"(!?)\s*({_KEY})"


def _labels(selector: str) -> tuple[_Test, ...]:
    """As kubectl reads them; a label that is absent passes `!=` and `notin`."""
    return tuple(_test(part.strip(), selector) for part in re.split(r",(?![^()]*\))", selector))


def _test(part: str, selector: str) -> _Test:
    if found := re.fullmatch(_ONE_OF, part):
        values = frozenset(value.strip() for value in found[3].split(","))
        return _Test(found[1], values, negated=found[2] == "notin")
    if found := re.fullmatch(_EQUAL, part):
        return _Test(found[1], frozenset({found[3]}), negated=found[2] == "!=")
    if found := re.fullmatch(_THERE, part):
        return _Test(found[2], None, negated=bool(found[1]))
    raise UsageError(
        what=f"{part!r} in the selector {selector!r} cannot be read"
        if part
        else f"{selector!r} has an empty part",
        why="a selector is a list such as team=web,tier!=test,env in (prod,stage),!legacy",
        next="mend -l",
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Test:
    """`values` is `None` where it only matters whether the label is there."""

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def __call__(self, labels: dict[str, str]) -> bool:
        holds = self.key in labels if self.values is None else labels.get(self.key) in self.values
        return holds is not self.negated
