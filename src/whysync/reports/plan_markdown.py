"""A plan as a comment on a pull request: the verdict first, and never too long for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whysync.diagnosis.report import AppReport, Report, SyncSafety
from whysync.planning.plan import AppPlan, Plan
from whysync.reports import markdown
from whysync.reports.plan_view import (
    GROUNDS,
    MARKS,
    by_app,
    change_words,
    took,
    untouched_words,
    verdict_words,
    waves,
)
from whysync.reports.screen import Screen, one_line

LONGEST = 65_536
"""Characters that GitHub takes in one comment."""
_ROOM = 2_000
_MOST_CHANGES = 60


def render(plan: Plan, report: Report) -> str:
    reports = by_app(report)
    lines = list(_verdict(plan, reports))
    used = sum(len(line) + 1 for line in lines)
    for number, app in enumerate(sorted(plan.apps, key=lambda one: one.passed)):
        for block in _blocks(app, reports.get(app.name)):
            size = sum(len(line) + 1 for line in block)
            if used + size > LONGEST - _ROOM:
                left = len(plan.apps) - number
                lines += [
                    "",
                    f"There is no room here for the rest of {left} apps: see `whysync plan -o text`.",
                ]
                return "\n".join(lines)[: LONGEST - 1].rstrip() + "\n"
            lines += block
            used += size
    if plan.untouched:
        lines += ["", markdown.escaped(untouched_words(plan))]
    lines += [f"- {markdown.escaped(one_line(note))}" for note in plan.notes]
    return "\n".join(lines)[: LONGEST - 1].rstrip() + "\n"


def _verdict(plan: Plan, reports: Mapping[str, AppReport]) -> Iterator[str]:
    failed = [app for app in plan.apps if not app.passed]
    unknown = [app for app in plan.apps if not app.runs]
    if failed:
        yield "## ❌ Would fail"
    elif unknown:
        yield "## ❔ Unknown"
    else:
        yield "## ✅ Would pass" if plan.apps else "## ✅ Nothing changes"
    yield ""
    for app in (failed or unknown)[:20]:
        yield f"- {markdown.escaped(one_line(verdict_words(app, reports.get(app.name)), 500))}"
    yield ""
    yield f"<sub>whysync plan, {_code(plan.base)} → {_code(plan.head)}</sub>"


def _blocks(app: AppPlan, report: AppReport | None) -> Iterator[list[str]]:
    head = ["", f"### {markdown.escaped(app.name.partition('/')[2])}", ""]
    for run in app.runs:
        words = "✅ would pass in" if run.passed else "❌ would fail after"
        why = "" if run.passed else f": {markdown.escaped(one_line(run.message, 300))}"
        head.append(f"- {GROUNDS[run.ground]}: {words} {took(run.seconds)}{why}")
    head += [f"- {markdown.escaped(one_line(note))}" for note in app.notes]
    yield head
    if app.changes:
        rows = ["", "| | resource | where |", "|---|---|---|"]
        for change in app.changes[:_MOST_CHANGES]:
            place = _code(change.origin) if change.origin else ""
            words = markdown.escaped(change_words(change)).replace("|", "\\|")
            rows.append(f"| {MARKS[change.sort]} | {words} | {place} |")
        if len(app.changes) > _MOST_CHANGES:
            rows.append(f"| | and {len(app.changes) - _MOST_CHANGES} more | |")
        yield rows
    safety = app.safety
    if safety is not None and safety.reasons:
        told = [f"- {markdown.escaped(one_line(reason.text))}" for reason in safety.reasons]
        otherwise = (
            "Otherwise the sync is" if safety.sync is SyncSafety.SAFE and not app.passed else "Sync is"
        )
        yield ["", f"{otherwise} **{safety.sync.value}**:", "", *told]
    run = app.decisive
    if run is not None and run.steps:
        drawn = [line.replace("```", "'''") for line in waves(run.steps, Screen(width=100))]
        yield [
            "",
            "<details><summary>Phases and waves</summary>",
            "",
            "```text",
            *drawn,
            "```",
            "",
            "</details>",
        ]
    if report is not None and run is not None and not run.passed:
        page = markdown.render(Report(apps=(report,), groups=()))
        yield ["", "<details><summary>Diagnosis</summary>", "", page.rstrip(), "", "</details>"]


def _code(text: str) -> str:
    return f"`{one_line(text, 200).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
