"""A fleet at a glance: which apps are broken, the worst first, and which of them have the same cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.report import AppReport, Report
from whysync.diagnosis.runner import group_key
from whysync.facts.snapshot import Gap


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An app to show, with the names of the apps whose findings are the same."""

    app: AppReport
    name: str
    same: tuple[str, ...] = ()


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    broken: int
    in_progress: int
    fine: int

    @property
    def total(self) -> int:
        return self.broken + self.in_progress + self.fine

    def __str__(self) -> str:
        parts = (
            f"{self.broken} of {self.total} need attention",
            f"{self.in_progress} in progress",
            f"{self.fine} fine",
        )
        return " · ".join(parts)


def is_broken(report: AppReport) -> bool:
    """Is anything wrong? A rollout or a sync that is still in progress is not."""
    return bool(report.unexplained) or any(finding.severity.weight > 0 for finding in report.findings)


def counts_of(report: Report) -> Counts:
    broken = sum(1 for app in report.apps if is_broken(app))
    in_progress = sum(1 for app in report.apps if app.findings and not is_broken(app))
    return Counts(broken=broken, in_progress=in_progress, fine=len(report.apps) - broken - in_progress)


def urgency(report: AppReport) -> tuple[int, int, str]:
    """Sort key: the highest severity first, then the highest confidence, then the name."""
    severities = [finding.severity.weight for finding in report.findings]
    if report.unexplained:
        severities.append(Severity.WARNING.weight)
    first = report.first
    return (
        -max(severities, default=-1),
        -first.confidence.weight if first is not None else 1,
        report.case.qualified_name,
    )


def worst_first(apps: Iterable[AppReport]) -> tuple[AppReport, ...]:
    return tuple(sorted(apps, key=urgency))


def app_names(cases: Iterable[Case]) -> dict[str, str]:
    """The shortest name that tells each app apart, by its qualified name."""
    cases = tuple(cases)
    bare = Counter(case.app.name for case in cases)
    return {
        case.qualified_name: case.app.name
        if bare[case.app.name] == 1 and not case.instance
        else case.qualified_name
        for case in cases
    }


def every_app(report: Report) -> tuple[Entry, ...]:
    """All apps, in their order, each on its own."""
    names = app_names(app.case for app in report.apps)
    return tuple(Entry(app=app, name=names[app.case.qualified_name]) for app in report.apps)


def broken_apps(report: Report, verdict_of: Callable[[AppReport], object]) -> tuple[Entry, ...]:
    """What is broken, the worst first. An app with the findings of another one is only named there.

    `verdict_of` is the answer to whether a sync is safe: an app with another answer is shown on its own.
    """
    names = app_names(app.case for app in report.apps)
    entries: list[tuple[AppReport, list[str]]] = []
    for app in worst_first(app for app in report.apps if is_broken(app)):
        name = names[app.case.qualified_name]
        same = next(
            (others for shown, others in entries if _adds_nothing(app, shown, verdict_of)),
            None,
        )
        if same is None:
            entries.append((app, []))
        else:
            same.append(name)
    return tuple(
        Entry(app=app, name=names[app.case.qualified_name], same=tuple(same)) for app, same in entries
    )


def _adds_nothing(app: AppReport, listed: AppReport, verdict_of: Callable[[AppReport], object]) -> bool:
    """Are the causes in this app those of the app that is shown already?"""
    if app.first is None or listed.first is None or app.unexplained or app.crashed:
        return False
    if group_key(app.first) != group_key(listed.first) or verdict_of(app) != verdict_of(listed):
        return False
    return {group_key(finding) for finding in _causes(app)} <= {
        group_key(finding) for finding in _causes(listed)
    }


def _causes(report: AppReport) -> Sequence[Finding]:
    return [finding for finding in report.findings if not finding.caused_by]


def gaps_of(apps: Iterable[AppReport]) -> tuple[Gap, ...]:
    """What could not be read, each once."""
    return tuple(dict.fromkeys(gap for app in apps for gap in app.gaps))
