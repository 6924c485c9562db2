"""`plan -o markdown`: a comment on a pull request, the verdict first, within GitHub's size limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from whysync.plan.plan import AppPlan, Cause, ChangeKind, Plan, PlannedFix, Verdict
from whysync.reports.markdown_text import BLANK, Md, code, fenced, joined, md, page, row, rule
from whysync.reports.output import Safe
from whysync.reports.plan_summary import (
    CLUSTER_LABELS,
    Statement,
    assumption_texts,
    gap_text,
    some,
    statements,
)
from whysync.reports.plan_text import HEADLINES, MARKS, change_text, safety_text, took, waves, worst_first
from whysync.reports.proof_text import mark_of
from whysync.reports.terminal import Terminal, one_line

LONGEST = 65_536
"""Characters that GitHub takes in one comment."""
_ROOM = 4_000
_MOST_CHANGES = 60
_MOST_STATEMENTS = 20
_MARKS = {Verdict.FAIL: "❌", Verdict.DELETE: "🗑️", Verdict.UNKNOWN: "❔", Verdict.PASS: "✅"}


def render(plan: Plan) -> Safe:
    if not plan.apps and plan.verdict is Verdict.PASS and not plan.notes:
        number = len(plan.untouched)
        apps = md(": {} not touched", "1 app is" if number == 1 else f"{number} apps are") if number else ""
        return page([md("{} Nothing changes{}.", _MARKS[Verdict.PASS], apps)])
    lines = list(_verdict(plan))
    end = list(_end(plan))
    used = sum(len(line) + 1 for line in (*lines, *end))
    apps = sorted(plan.apps, key=worst_first)
    for number, app in enumerate(apps):
        block = _folded(_summary(app), _details(app), is_open=len(apps) == 1)
        size = sum(len(line) + 1 for line in block)
        if used + size > LONGEST - _ROOM:
            rest = md(
                "There is no room here for {} more apps: see `whysync plan -o wide`.", len(apps) - number
            )
            lines += [BLANK, rest]
            break
        lines += block
        used += size
    return page([*lines, *end], longest=LONGEST)


def _end(plan: Plan) -> Iterator[Md]:
    assumed = assumption_texts(plan, most=20)
    if assumed:
        entries = [md("- {}", one_line(text, 1_000)) for text in assumed]
        yield from _folded(md("Taken for granted about the cluster"), entries)
    if plan.untouched:
        number = len(plan.untouched)
        yield BLANK
        yield md("{} not touched.", "1 app is" if number == 1 else f"{number} apps are")
    yield from (md("- {}", one_line(note)) for note in plan.notes)


def _verdict(plan: Plan) -> Iterator[Md]:
    counts = Counter(app.verdict for app in plan.apps)
    several = [
        md("{} {}", counts[verdict], HEADLINES[verdict].lower()) for verdict in Verdict if counts[verdict]
    ]
    title = (
        HEADLINES[plan.verdict]
        if len(plan.apps) < 2
        else md("{} ({})", HEADLINES[plan.verdict], joined(", ", several))
    )
    yield md("## {} {}", _MARKS[plan.verdict], title if plan.apps or plan.problems else "Nothing changes")
    found = statements(plan)
    for verdict in plan.problems:
        yield BLANK
        if verdict is not plan.verdict:
            yield from (md("{} {}:", _MARKS[verdict], HEADLINES[verdict]), BLANK)
        of_verdict = [statement for statement in found if statement.verdict is verdict]
        for statement in of_verdict[:_MOST_STATEMENTS]:
            yield from _statement(statement)
        if len(of_verdict) > _MOST_STATEMENTS:
            yield md("- and {} more", len(of_verdict) - _MOST_STATEMENTS)
    yield BLANK
    yield md("<sub>whysync plan, {} → {}</sub>", code(plan.base, 200), code(plan.head, 200))


def _statement(statement: Statement) -> Iterator[Md]:
    names = md("**{}**: ", some(app.title for app in statement.apps)) if statement.apps else ""
    place = md(" ({})", code(str(statement.location))) if statement.location is not None else ""
    yield md("- {}{}{}", names, one_line(statement.text, 500), place)
    if statement.fix is not None:
        yield md("  Fix: {}", one_line(statement.fix.fix.title))


def _summary(app: AppPlan) -> Md:
    counts = Counter(change.sort for change in app.changes)
    numbers = " ".join(f"{MARKS[sort]}{counts[sort]}" for sort in ChangeKind if counts[sort])
    return md("{} {} {}", _MARKS[app.verdict], app.title, numbers)


def _details(app: AppPlan) -> Iterator[Md]:
    for run in app.runs:
        verdict = "✅ would pass in" if run.passed else "❌ would fail after"
        why = "" if run.passed else md(": {}", one_line(run.message, 300))
        yield md("- {}: {} {}{}", CLUSTER_LABELS[run.cluster], verdict, took(run.seconds), why)
    notes = [*app.notes, *(note for run in app.runs for note in run.notes), *map(gap_text, app.unseen)]
    yield from (md("- {}", one_line(note)) for note in dict.fromkeys(notes))
    safety = app.safety
    if safety is not None and safety.reasons:
        yield from (BLANK, md("**{}**:", safety_text(app).capitalize()), BLANK)
        yield from (md("- {}", one_line(reason.text)) for reason in safety.reasons)
    for cause in app.causes:
        yield BLANK
        yield from _cause(cause)
    yield from _changes(app)
    run = app.decisive
    if run is not None and run.steps:
        wave_lines = fenced(list(waves(run.steps, Terminal(width=100))), "text")
        yield from _folded(md("Phases and waves"), wave_lines)


def _changes(app: AppPlan) -> Iterator[Md]:
    if not app.changes:
        return
    yield from (BLANK, row("", "resource", "where"), rule(3))
    for change in app.changes[:_MOST_CHANGES]:
        origin = code(change.origin, 200) if change.origin else ""
        yield row(MARKS[change.sort], change_text(change), origin)
    if len(app.changes) > _MOST_CHANGES:
        yield row("", f"and {len(app.changes) - _MOST_CHANGES} more", "")


def _cause(cause: Cause) -> Iterator[Md]:
    """What would fail, where it is written, and fixes as diffs for `git apply`."""
    finding = cause.finding
    place = md(" ({})", code(finding.place)) if finding.place else ""
    yield md("**{}**{}", one_line(finding.verdict, 2_000), place)
    for planned in cause.fixes:
        yield BLANK
        yield from _fix(planned)


def _fix(planned: PlannedFix) -> Iterator[Md]:
    mark = mark_of(planned.fix, Terminal())
    yield md("Fix: {}{}", one_line(planned.fix.title), md(" *{}*", mark) if mark else "")
    for note in (
        f"Risk: {planned.fix.risk}" if planned.fix.risk else "",
        f"Destroys: {', '.join(planned.fix.destroys)}" if planned.fix.destroys else "",
        planned.hint,
    ):
        if note:
            yield from (BLANK, md("{}", one_line(note, 600)))
    if planned.change is not None:
        yield BLANK
        yield from fenced(planned.diff.split("\n")[:-1], "diff")


def _folded(title: Md, lines: Iterable[Md], *, is_open: bool = False) -> list[Md]:
    head = (
        md("<details open><summary>{}</summary>", title)
        if is_open
        else md("<details><summary>{}</summary>", title)
    )
    return [BLANK, head, BLANK, *lines, BLANK, md("</details>")]
