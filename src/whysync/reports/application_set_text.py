"""An ApplicationSet as text: what is wrong with it, its generators, and which of its Applications wait."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.report import Report
from whysync.diagnosis.sentences import counted
from whysync.queries.application_set_state import Member, SetReport
from whysync.reports.diagnose_text import finding_lines, headline_of
from whysync.reports.fleet import is_broken
from whysync.reports.terminal import Terminal, one_line

_MOST_MEMBERS = 30


def lines_of_set(
    one: SetReport, report: Report, terminal: Terminal, *, wide: bool, source_flags: str | None
) -> Iterator[str]:
    """`report` has the Applications of the set, which are printed after it."""
    yield from _headline(one, report, terminal)
    for number, finding in enumerate(one.report.findings):
        yield ""
        yield from finding_lines(
            finding,
            one.report,
            terminal,
            wide=wide,
            proofs=False,
            first=number == 0,
            source_flags=source_flags,
        )
    yield ""
    for number, generator in enumerate(one.generators):
        yield from terminal.labeled("" if number else "generators", one_line(generator))
    for step in one.steps:
        limit = "" if step.max_update is None else f", at most {step.max_update} at once"
        members = [member for member in one.members if member.step == step.number]
        done = sum(member.is_done for member in members)
        text = f"{one_line(step.selects)}{limit}: {done} of {len(members)} done"
        yield from terminal.labeled(f"step {step.number}", text)
    waiting = [member for member in one.members if not member.is_done and (member.status or member.waits)]
    for number, member in enumerate(waiting[: None if wide else _MOST_MEMBERS]):
        yield from terminal.labeled("" if number else "not done", _member(member, terminal))
    if len(waiting) > _MOST_MEMBERS and not wide:
        yield from terminal.labeled("", f"and {len(waiting) - _MOST_MEMBERS} more (-o wide)")
    if wide:
        for condition in one.conditions:
            text = f"{condition.type} is {condition.status} ({condition.reason}): {condition.message}"
            yield from terminal.labeled("condition", one_line(text))


def _member(member: Member, terminal: Terminal) -> str:
    dot = terminal.mark("dot")
    state = f" {dot} ".join(filter(None, (member.sync, member.health, member.status)))
    return one_line(f"{member.name}: {state}{f'; {member.waits}' if member.waits else ''}")


def _headline(one: SetReport, report: Report, terminal: Terminal) -> Iterator[str]:
    first = one.report.first
    broken = sum(1 for app in report.apps if is_broken(app))
    state = counted(len(one.members), "app") if one.members else "no apps"
    if broken:
        state += f", {broken} of them {'needs' if broken == 1 else 'need'} attention"
    mark, color = (
        ("bad", "red") if first is not None else ("unsure", "yellow") if broken else ("good", "green")
    )
    head = f"{terminal.mark(mark)} ApplicationSet {one_line(one.qualified_name)}   {state}"
    yield terminal.paint(head, "bold", color)
    if first is not None:
        answer = headline_of(first)
    else:
        answer = "it generates its apps without an error" if one.conditions else "it has no status yet"
    for line in terminal.wrap(answer, indent=2):
        yield terminal.paint(line, "bold")
