"""Flags that select apps: `-l`, `--project`, `--sync`, `--cause` and others."""

from __future__ import annotations

import argparse
import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from whysync.cli.flag_types import Append, collapsed_group
from whysync.errors import UsageError

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.report import AppReport, Report

_SHORT_LIST = 10
_COLUMNS = ("project", "cluster", "namespace", "destination", "sync", "health", "policy", "cause")


def add_filter_flags(verb: argparse.ArgumentParser) -> None:
    add_selector_flag(verb)
    filters = collapsed_group(
        verb, "filters", "repeatable, case-insensitive; a,b: one of these; !a: not this; * matches any text"
    )
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

    columns = {name: _Filter.parsed(values) for name in _COLUMNS if (values := getattr(options, name))}
    conditions = _Filter.parsed(options.condition or [])
    _expect("sync", columns, tuple(SyncCode))
    _expect("health", columns, tuple(HealthCode))
    if "cause" in columns:
        _expect("cause", columns, app.known_causes())

    def matches(report: AppReport) -> bool:
        row = row_of(report)
        return all(filter.accepts(str(getattr(row, name))) for name, filter in columns.items()) and (
            conditions.accepts(*row.conditions.split(","))
        )

    if not columns and not options.condition:
        return report
    apps = tuple(app for app in report.apps if matches(app))
    return replace(report, apps=apps, groups=app.shared_causes(apps))


class _Filter(NamedTuple):
    """The patterns of one flag: any of `wanted` if there are some, and none of `excluded`."""

    wanted: tuple[str, ...]
    excluded: tuple[str, ...]

    @staticmethod
    def parsed(values: Sequence[str]) -> _Filter:
        patterns = split_values(values)
        return _Filter(
            tuple(pattern for pattern in patterns if not pattern.startswith("!")),
            tuple(pattern[1:] for pattern in patterns if pattern.startswith("!")),
        )

    def accepts(self, *values: str) -> bool:
        """Does one of the values of a row match, and none of them an excluded pattern?"""
        if any(_any(value, self.excluded) for value in values):
            return False
        return not self.wanted or any(_any(value, self.wanted) for value in values)


def split_values(values: Sequence[str]) -> tuple[str, ...]:
    """`Degraded,Missing` is two values."""
    return tuple(item.strip() for value in values for item in value.split(",") if item.strip())


def _expect(name: str, columns: Mapping[str, _Filter], known: Sequence[str]) -> None:
    """Reject a value that no app can have, so that a typo does not read as "no app matches"."""
    column = columns.get(name)
    for pattern in (*column.wanted, *column.excluded) if column else ():
        if any(_any(value, [pattern]) for value in known):
            continue
        from difflib import get_close_matches

        lower = {value.lower(): value for value in known}
        matches = [lower[match] for match in get_close_matches(pattern.lower(), lower, n=3)]
        hint, every = (
            f"did you mean {' or '.join(matches)}?" if matches else "",
            f"one of: {', '.join(known)}",
        )
        problem = f"invalid --{name} {pattern!r}; "
        if len(known) > _SHORT_LIST:
            raise UsageError(what=problem + (hint or "see the list of causes"), why=every)
        raise UsageError(what=problem + every, why=hint)


def _any(value: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(value.lower(), pattern.lower()) for pattern in patterns)


_KEY = r"[\w./-]+"
_ONE_OF = rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)"
_EQUAL = rf"({_KEY})\s*(==?|!=)\s*([\w.-]*)"
_EXISTS = rf"(!?)\s*({_KEY})"


def _requirements(selector: str) -> tuple[_Requirement, ...]:
    """As in kubectl: a label that is not set matches `!=` and `notin`."""
    return tuple(
        _requirement(requirement.strip(), selector) for requirement in re.split(r",(?![^()]*\))", selector)
    )


def _requirement(requirement: str, selector: str) -> _Requirement:
    if match := re.fullmatch(_ONE_OF, requirement):
        values = frozenset(value.strip() for value in match[3].split(","))
        return _Requirement(match[1], values, negated=match[2] == "notin")
    if match := re.fullmatch(_EQUAL, requirement):
        return _Requirement(match[1], frozenset({match[3]}), negated=match[2] == "!=")
    if match := re.fullmatch(_EXISTS, requirement):
        return _Requirement(match[2], None, negated=bool(match[1]))
    raise UsageError(
        what=f"invalid label selector {selector!r}: {requirement!r}"
        if requirement
        else f"invalid label selector {selector!r}: a part is empty",
        why="a selector is a list such as team=web,tier!=test,env in (prod,stage),!legacy",
        next="correct -l",
    )


class _Requirement(NamedTuple):
    """One requirement of a label selector; `values` is `None` if the label only has to exist."""

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def __call__(self, labels: dict[str, str]) -> bool:
        matches = self.key in labels if self.values is None else labels.get(self.key) in self.values
        return matches is not self.negated
