"""The result of `whysync plan` as annotations: by app, and by app and cluster."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Severity
from whysync.diagnosis.report import AppReport, Report, SyncSafety
from whysync.plan.plan import AppPlan, Plan, Run, Verdict
from whysync.reports.annotations.annotation import Annotation
from whysync.reports.plan_text import CLUSTER_LABELS, by_app, verdict_text


def app_rows(plan: Plan, report: Report) -> list[Annotation]:
    """Apps that would fail, that cannot be planned, and whose sync would lose something."""
    reports = by_app(plan, report)
    rows = [row for app in plan.apps for row in _verdicts(app, reports.get(app.key))]
    rows += [
        Annotation(message=text, severity=Severity.WARNING, title="whysync plan: unknown")
        for text in plan.not_planned
    ]
    return sorted(rows, key=lambda row: (row.title, not row.file, row.file, row.message))


def _verdicts(app: AppPlan, report: AppReport | None) -> Iterator[Annotation]:
    why = verdict_text(app, report)
    match app.verdict:
        case Verdict.UNKNOWN:
            yield _verdict(app, Severity.WARNING, "unknown", why)
        case Verdict.FAIL:
            yield _verdict(app, Severity.CRITICAL, "would fail", why)
        case _:
            pass
    if app.safety is not None and app.safety.sync is SyncSafety.UNSAFE:
        reasons = "; ".join(reason.text for reason in app.safety.reasons)
        if app.verdict is Verdict.DELETE:
            yield _verdict(app, Severity.CRITICAL, "would delete", f"{app.name}: {reasons}")
        else:
            yield _verdict(app, Severity.WARNING, "not safe to merge", f"{app.name}: {reasons}")


def _verdict(app: AppPlan, severity: Severity, verdict: str, message: str) -> Annotation:
    return Annotation(message=message, severity=severity, title=f"whysync plan: {verdict}", file=app.file)


def run_rows(plan: Plan, report: Report) -> list[Annotation]:
    """Each app on each cluster, whether it passed or not."""
    reports = by_app(plan, report)
    return [row for app in plan.apps for row in _runs(app, reports.get(app.key))]


def _runs(app: AppPlan, report: AppReport | None) -> Iterator[Annotation]:
    why = verdict_text(app, report)
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
            details=_details(run, why, report) if decisive else run.message,
            seconds=run.seconds,
        )


def _details(run: Run, why: str, report: AppReport | None) -> str:
    findings = report.findings[:1] if report is not None else ()
    fixes = [f"fix: {fix.title}" for finding in findings for fix in finding.fixes]
    return "\n".join(dict.fromkeys([why, run.message, *fixes]))
