"""Which apps: `-l`, `--project`, `--sync`, `--cause` and the like."""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whysync.cli.flag_types import Append
from whysync.errors import UsageError

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.report import AppReport, Report

_COLUMNS = ("project", "cluster", "namespace", "destination", "sync", "health", "policy", "cause")


def add_filter_flags(verb: argparse.ArgumentParser) -> None:
    for column in (*_COLUMNS, "condition"):
        names = ("-n", "--namespace") if column == "namespace" else (f"--{column}",)
        verb.add_argument(*names, metavar="VALUE", action=Append, help=f"only apps with this {column}")
    add_selector_flag(verb)


def add_selector_flag(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "-l", "--selector", metavar="LABELS", help="only apps with these labels, as kubectl's -l"
    )


def chosen(cases: Sequence[Case], options: argparse.Namespace) -> tuple[Case, ...]:
    """What can be told before a diagnosis; `--cause` and the other columns come after it."""
    wanted = _labels(options.selector) if options.selector else ()
    return tuple(case for case in cases if all(test(case.app.metadata.labels) for test in wanted))


def chosen_by_column(report: Report, options: argparse.Namespace) -> Report:
    """Values are compared as whole words, without regard to case; `*` stands for anything."""
    from msgspec.structs import replace

    from whysync import app
    from whysync.argocd.api.application import HealthCode, SyncCode
    from whysync.reports.list_view import row_of

    columns = {name: values for name in _COLUMNS if (values := getattr(options, name))}
    conditions: list[str] = options.condition or []
    _expect("sync", columns.get("sync", ()), tuple(SyncCode))
    _expect("health", columns.get("health", ()), tuple(HealthCode))

    def fits(one: AppReport) -> bool:
        row = row_of(one)
        return all(_any(str(getattr(row, name)), values) for name, values in columns.items()) and (
            not conditions or any(_any(kind, conditions) for kind in row.conditions.split(","))
        )

    if not columns and not conditions:
        return report
    apps = tuple(app for app in report.apps if fits(app))
    return replace(report, apps=apps, groups=app.in_common(apps))


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
        next="correct -l",
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
