"""A plan as workflow commands of GitHub Actions: what would fail, and what would be lost."""

from __future__ import annotations

from whysync.diagnosis.report import Report, SyncSafety
from whysync.plan.plan import AppPlan, Plan
from whysync.reports.github import Command, command, commands
from whysync.reports.output import Safe
from whysync.reports.plan_view import by_app, verdict_words


def render(plan: Plan, report: Report) -> Safe:
    reports = by_app(report)
    lines: list[Command] = []
    for app in plan.apps:
        told = verdict_words(app, reports.get(app.name))
        if not app.runs:
            lines.append(_said("warning", app, "whysync plan: unknown", told))
        elif not app.passed:
            lines.append(_said("error", app, "whysync plan: would fail", told))
        if app.safety is not None and app.safety.sync is SyncSafety.UNSAFE:
            why = "; ".join(reason.text for reason in app.safety.reasons)
            lines.append(_said("warning", app, "whysync plan: not safe to merge", f"{app.name}: {why}"))
    return commands(sorted(lines))


def _said(kind: str, app: AppPlan, title: str, told: str) -> Command:
    return command(kind, told, title=title, **{"file": app.file} if app.file else {})
