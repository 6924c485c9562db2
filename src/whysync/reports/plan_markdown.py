"""`plan -o markdown`: a comment on a pull request, the verdict first, within GitHub's size limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from whysync.diagnosis.report import AppReport, Report, SyncSafety
from whysync.plan.plan import AppPlan, Plan, Verdict
from whysync.reports import diagnose_markdown
from whysync.reports.markdown_text import BLANK, Md, code, fenced, md, page, row, rule
from whysync.reports.output import Safe
from whysync.reports.plan_text import (
    CLUSTER_LABELS,
    HEADLINES,
    MARKS,
    AppKey,
    by_app,
    change_text,
    took,
    untouched_text,
    verdict_texts,
    waves,
    worst_first,
)
from whysync.reports.terminal import Terminal, one_line

LONGEST = 65_536
"""Characters that GitHub takes in one comment."""
_ROOM = 2_000
_MOST_CHANGES = 60
_MARKS = {Verdict.FAIL: "❌", Verdict.DELETE: "🗑️", Verdict.UNKNOWN: "❔", Verdict.PASS: "✅"}


def render(plan: Plan, report: Report) -> Safe:
    reports = by_app(plan, report)
    lines = list(_verdict(plan, reports))
    used = sum(len(line) + 1 for line in lines)
    for number, app in enumerate(sorted(plan.apps, key=worst_first)):
        for block in _blocks(app, reports.get(app.key)):
            size = sum(len(line) + 1 for line in block)
            if used + size > LONGEST - _ROOM:
                omitted = len(plan.apps) - number
                rest = md(
                    "There is no room here for the rest of {} apps: see `whysync plan -o text`.", omitted
                )
                return page([*lines, BLANK, rest], longest=LONGEST)
            lines += block
            used += size
    if plan.untouched:
        lines += [BLANK, md("{}", untouched_text(plan))]
    lines += [md("- {}", one_line(note)) for note in plan.notes]
    return page(lines, longest=LONGEST)


def _verdict(plan: Plan, reports: Mapping[AppKey, AppReport]) -> Iterator[Md]:
    is_quiet = plan.verdict is Verdict.PASS and not plan.apps
    yield md("## {} {}", _MARKS[plan.verdict], "Nothing changes" if is_quiet else HEADLINES[plan.verdict])
    for verdict in plan.problems:
        yield BLANK
        if verdict is not plan.verdict:
            yield from (md("{} {}:", _MARKS[verdict], HEADLINES[verdict]), BLANK)
        texts = verdict_texts(plan, verdict, reports)
        yield from (md("- {}", one_line(text, 500)) for text in texts[:20])
        if len(texts) > 20:
            yield md("- and {} more", len(texts) - 20)
    yield BLANK
    yield md("<sub>whysync plan, {} → {}</sub>", code(plan.base, 200), code(plan.head, 200))


def _blocks(app: AppPlan, report: AppReport | None) -> Iterator[list[Md]]:
    head = [BLANK, md("### {}", app.title), BLANK]
    for run in app.runs:
        verdict = "✅ would pass in" if run.passed else "❌ would fail after"
        why = "" if run.passed else md(": {}", one_line(run.message, 300))
        head.append(md("- {}: {} {}{}", CLUSTER_LABELS[run.cluster], verdict, took(run.seconds), why))
    head += [md("- {}", one_line(note)) for note in app.notes]
    yield head
    if app.changes:
        rows = [BLANK, row("", "resource", "where"), rule(3)]
        for change in app.changes[:_MOST_CHANGES]:
            origin = code(change.origin, 200) if change.origin else ""
            rows.append(row(MARKS[change.sort], change_text(change), origin))
        if len(app.changes) > _MOST_CHANGES:
            rows.append(row("", f"and {len(app.changes) - _MOST_CHANGES} more", ""))
        yield rows
    safety = app.safety
    if safety is not None and safety.reasons:
        reasons = [md("- {}", one_line(reason.text)) for reason in safety.reasons]
        otherwise = (
            "Otherwise the sync is" if safety.sync is SyncSafety.SAFE and not app.passed else "Sync is"
        )
        yield [BLANK, md("{} **{}**:", otherwise, safety.sync.value), BLANK, *reasons]
    run = app.decisive
    if run is not None and run.steps:
        wave_lines = fenced(list(waves(run.steps, Terminal(width=100))), "text")
        yield _folded(md("Phases and waves"), wave_lines)
    if report is not None and run is not None and not run.passed:
        yield _folded(md("Diagnosis"), diagnose_markdown.lines_of(Report(apps=(report,), groups=())))


def _folded(title: Md, lines: Iterable[Md]) -> list[Md]:
    return [BLANK, md("<details><summary>{}</summary>", title), BLANK, *lines, BLANK, md("</details>")]
