"""A plan as JUnit XML: a test case for each app on each cluster."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.report import AppReport, Report
from whysync.planning.plan import AppPlan, Plan, Run
from whysync.reports.markup import lines_of, tag
from whysync.reports.plan_view import GROUNDS, by_app, verdict_words


def render(plan: Plan, report: Report) -> str:
    reports = by_app(report)
    cases = [one for app in plan.apps for one in _cases(app, reports.get(app.name))]
    cases = cases or [tag("testcase", classname="whysync", name="nothing changes")]
    counts = {
        "tests": len(cases),
        "failures": sum(1 for app in plan.apps for run in app.runs if not run.passed),
        "errors": 0,
        "skipped": sum(1 for app in plan.apps if not app.runs),
    }
    suite = tag("testsuite", *(f"\n    {one}" for one in cases), "\n  ", name="whysync plan", **counts)
    made = tag("testsuites", f"\n  {suite}\n", name="whysync plan", **counts)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{made}\n'


def _cases(app: AppPlan, report: AppReport | None) -> Iterator[str]:
    file = {"file": app.file} if app.file else {}
    if not app.runs:
        skipped = tag("skipped", message=verdict_words(app, report))
        yield tag("testcase", skipped, classname=app.name, name="cannot be planned here", **file)
    for run in app.runs:
        inside = [] if run.passed else [_failure(app, run, report)]
        yield tag(
            "testcase",
            *inside,
            classname=app.name,
            name=GROUNDS[run.ground],
            time=f"{run.seconds:.0f}",
            **file,
        )


def _failure(app: AppPlan, run: Run, report: AppReport | None) -> str:
    why = verdict_words(app, report) if run is app.decisive else run.message
    told = [why, run.message]
    if report is not None and run is app.decisive:
        told += [f"fix: {fix.title}" for finding in report.findings[:1] for fix in finding.fixes]
    return tag("failure", lines_of("\n".join(dict.fromkeys(told))), type="plan", message=why)
