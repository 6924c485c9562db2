"""A plan as JUnit XML: a test case for each app on each cluster."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.report import AppReport, Report
from whysync.plan.plan import AppPlan, Plan, Run
from whysync.reports.output import Safe
from whysync.reports.plan_view import GROUNDS, by_app, verdict_words
from whysync.reports.xml_text import Xml, joined, lines_of, suites, tag


def render(plan: Plan, report: Report) -> Safe:
    reports = by_app(report)
    cases = [one for app in plan.apps for one in _cases(app, reports.get(app.name))]
    cases = cases or [tag("testcase", classname="whysync", name="nothing changes")]
    counts = {
        "tests": len(cases),
        "failures": sum(1 for app in plan.apps for run in app.runs if not run.passed),
        "errors": 0,
        "skipped": sum(1 for app in plan.apps if not app.runs),
    }
    return suites("whysync plan", cases, **counts)


def _cases(app: AppPlan, report: AppReport | None) -> Iterator[Xml]:
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


def _failure(app: AppPlan, run: Run, report: AppReport | None) -> Xml:
    why = verdict_words(app, report) if run is app.decisive else run.message
    told = [why, run.message]
    if report is not None and run is app.decisive:
        told += [f"fix: {fix.title}" for finding in report.findings[:1] for fix in finding.fixes]
    return tag("failure", joined(lines_of("\n".join(dict.fromkeys(told))), "\n"), type="plan", message=why)
