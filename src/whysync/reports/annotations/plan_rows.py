"""The result of `whysync plan` as annotations: by app, and by app and cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.report import SyncSafety
from whysync.plan.plan import AppPlan, Plan, Run, Verdict
from whysync.reports.annotations.annotation import Annotation
from whysync.reports.plan_summary import CLUSTER_LABELS, Statement, statements, verdict_text
from whysync.reports.plan_text import HEADLINES


def app_rows(plan: Plan) -> list[Annotation]:
    """Why apps would fail, would delete something, or are unknown; a cause that apps share is one row."""
    rows = [_row(statement) for statement in statements(plan)]
    rows += [row for app in plan.apps if app.verdict is Verdict.FAIL for row in _unsafe(app)]
    return sorted(rows, key=lambda row: (row.title, not row.file, row.file, row.line or 0, row.message))


def _row(statement: Statement) -> Annotation:
    verdict = HEADLINES[statement.verdict].lower()
    is_unknown = statement.verdict is Verdict.UNKNOWN
    return Annotation(
        message=statement.sentence(),
        severity=Severity.WARNING if is_unknown else Severity.CRITICAL,
        help=f"fix: {statement.fix.fix.title}" if statement.fix is not None else "",
        **_place(f"whysync plan: {verdict}", _location_of(statement), statement.apps[:1]),
    )


def _location_of(statement: Statement) -> FileLocation | None:
    """Preferably a line that the commit changes: GitHub shows no other ones in the diff."""
    own = (app.location for app in statement.apps if statement.verdict is Verdict.FAIL)
    return next((location for location in own if location is not None), statement.location)


def _unsafe(app: AppPlan) -> Iterator[Annotation]:
    """An app that would fail may also lose something in a later sync."""
    if app.safety is not None and app.safety.sync is SyncSafety.UNSAFE:
        reasons = "; ".join(reason.text for reason in app.safety.reasons)
        place = _place("whysync plan: not safe to merge", None, (app,))
        yield Annotation(message=f"{app.title}: {reasons}", severity=Severity.WARNING, **place)


class _Place(TypedDict):
    title: str
    rule: str
    file: str
    line: int | None


def _place(title: str, location: FileLocation | None, apps: tuple[AppPlan, ...]) -> _Place:
    if location is None:
        return _Place(title=title, rule=title, file=apps[0].file if apps else "", line=None)
    return _Place(title=title, rule=title, file=location.path, line=location.line or None)


def run_rows(plan: Plan) -> list[Annotation]:
    """Each app on each cluster, whether it passed or not."""
    return [row for app in plan.apps for row in _runs(app)]


def _runs(app: AppPlan) -> Iterator[Annotation]:
    why = verdict_text(app)
    if app.verdict is Verdict.DELETE:
        yield Annotation(
            message=why,
            severity=Severity.CRITICAL,
            title="deletions",
            file=app.file,
            suite=app.name,
            failure_type="plan",
            details=why,
        )
    elif not app.runs:
        yield Annotation(
            message=why, title="cannot be planned here", file=app.file, suite=app.name, skipped=why
        )
    for run in app.runs:
        decisive = run is app.decisive
        yield Annotation(
            message=why if decisive else run.message,
            severity=None if run.passed else Severity.CRITICAL,
            title=CLUSTER_LABELS[run.cluster],
            file=app.file,
            suite=app.name,
            failure_type="plan",
            details=_details(run, why, app) if decisive else run.message,
            seconds=run.seconds,
        )


def _details(run: Run, why: str, app: AppPlan) -> str:
    """The cause with its line, Argo CD's message, and fixes as diffs."""
    causes = app.causes[:1]
    places = [f"at {cause.finding.location}" for cause in causes if cause.finding.location is not None]
    fixes = [
        f"fix: {planned.fix.title}\n{planned.diff}".rstrip() for cause in causes for planned in cause.fixes
    ]
    return "\n".join(dict.fromkeys([why, *places, run.message, *fixes]))
