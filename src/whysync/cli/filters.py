"""Flags that select apps: `-l`, `--project`, `--sync`, `--cause` and others."""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whysync.cli.flag_types import Append, collapsed_group
from whysync.errors import UsageError

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.report import AppReport, Report

_COLUMNS = ("project", "cluster", "namespace", "destination", "sync", "health", "policy", "cause")


def add_filter_flags(verb: argparse.ArgumentParser) -> None:
    add_selector_flag(verb)
    filters = collapsed_group(verb, "filters", "repeatable, case-insensitive; * matches any text")
    for column in (*_COLUMNS, "condition"):
        names = ("-n", "--namespace") if column == "namespace" else (f"--{column}",)
        filters.add_argument(*names, metavar="VALUE", action=Append, help=f"only apps with this {column}")


def add_selector_flag(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "-l", "--selector", metavar="LABELS", help="only apps with these labels, as in kubectl -l"
    )


def matching_labels(cases: Sequence[Case], options: argparse.Namespace) -> tuple[Case, ...]:
    """The apps that match `-l`, before they are diagnosed."""
    requirements = _requirements(options.selector) if options.selector else ()
    return tuple(case for case in cases if all(test(case.app.metadata.labels) for test in requirements))


def matching_columns(report: Report, options: argparse.Namespace) -> Report:
    """The apps that match `--cause` and the other columns, after they were diagnosed."""
    from msgspec.structs import replace

    from whysync import app
    from whysync.argocd.api.application import HealthCode, SyncCode
    from whysync.reports.list_view import row_of

    columns = {name: values for name in _COLUMNS if (values := getattr(options, name))}
    conditions: list[str] = options.condition or []
    _expect("sync", columns.get("sync", ()), tuple(SyncCode))
    _expect("health", columns.get("health", ()), tuple(HealthCode))

    def matches(report: AppReport) -> bool:
        row = row_of(report)
        return all(_any(str(getattr(row, name)), values) for name, values in columns.items()) and (
            not conditions or any(_any(kind, conditions) for kind in row.conditions.split(","))
        )

    if not columns and not conditions:
        return report
    apps = tuple(app for app in report.apps if matches(app))
    return replace(report, apps=apps, groups=app.shared_causes(apps))


def _expect(name: str, patterns: Sequence[str], known: Sequence[str]) -> None:
    """Reject a value that no app can have, so that a typo does not read as "no app matches"."""
    for pattern in patterns:
        if not any(_any(value, [pattern]) for value in known):
            raise UsageError(
                what=f"invalid --{name} {pattern!r}",
                why=f"it must match one of {', '.join(known)}",
                next="correct it; * matches any text",
            )


def _any(value: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(value.lower(), pattern.lower()) for pattern in patterns)


_KEY = r"[\w./-]+"
_ONE_OF = rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)"
_EQUAL = rf"({_KEY})\s*(==?|!=)\s*([\w.-]*)"
_EXISTS = rf"(!?)\s*({_KEY})"


def _requirements(selector: str) -> tuple[_Requirement, ...]:
    """As in kubectl: a label that is not set matches `!=` and `notin`."""
    return tuple(_requirement(part.strip(), selector) for part in re.split(r",(?![^()]*\))", selector))


def _requirement(part: str, selector: str) -> _Requirement:
    if match := re.fullmatch(_ONE_OF, part):
        values = frozenset(value.strip() for value in match[3].split(","))
        return _Requirement(match[1], values, negated=match[2] == "notin")
    if match := re.fullmatch(_EQUAL, part):
        return _Requirement(match[1], frozenset({match[3]}), negated=match[2] == "!=")
    if match := re.fullmatch(_EXISTS, part):
        return _Requirement(match[2], None, negated=bool(match[1]))
    raise UsageError(
        what=f"invalid label selector {selector!r}: {part!r}"
        if part
        else f"invalid label selector {selector!r}: a part is empty",
        why="a selector is a list such as team=web,tier!=test,env in (prod,stage),!legacy",
        next="correct -l",
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Requirement:
    """One requirement of a label selector; `values` is `None` if the label only has to exist."""

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def __call__(self, labels: dict[str, str]) -> bool:
        holds = self.key in labels if self.values is None else labels.get(self.key) in self.values
        return holds is not self.negated
