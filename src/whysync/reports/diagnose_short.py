"""`-o short`: three lines per app for a chat message: what, why, and the fix or a check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whysync.diagnosis.report import AppReport, ReasonKind, Report
from whysync.queries.check_commands import checks_for
from whysync.queries.commands import app_argument
from whysync.reports import output
from whysync.reports.diagnose_text import answer_of, is_doubtful, state_of, sync_verdict
from whysync.reports.fleet import Entry, broken_apps, counts_of, every_app
from whysync.reports.output import Safe
from whysync.reports.proof_text import mark_of
from whysync.reports.terminal import Terminal, one_line

_LONGEST = 240
_MOST_NAMES = 8


def render(report: Report, *, fleet: bool) -> Safe:
    """`fleet`: only what is broken, and how many apps are not."""
    return output.text(lines_of(report, fleet=fleet))


def lines_of(report: Report, *, fleet: bool) -> Iterator[str]:
    entries = broken_apps(report, verdict_word) if fleet else every_app(report)
    for number, entry in enumerate(entries):
        yield from ([""] if number else [])
        yield from _entry(entry)
    if fleet:
        yield from ([""] if entries else [])
        yield str(counts_of(report))


def verdict_word(report: AppReport) -> object:
    return sync_verdict(report)[0]


def _entry(entry: Entry) -> Iterator[str]:
    report = entry.app
    verdict = f" · sync now? {verdict_word(report)}" if _was_tried(report) else ""
    yield f"{one_line(entry.name)}{also(entry.same)}: {state_of(report)}{verdict}"
    yield f"why: {one_line(answer_of(report), _LONGEST)}"
    checks = checks_for(report.first, report.case) if report.first and is_doubtful(report.first) else ()
    yield f"check: {one_line(checks[0], _LONGEST)}" if checks else f"fix: {one_line(_fix(report), _LONGEST)}"


def _was_tried(report: AppReport) -> bool:
    """Is there an answer to whether a sync is safe? `list` does not simulate one."""
    untried = any(reason.kind is ReasonKind.NOT_TRIED for reason in report.safety.reasons)
    return bool(report.findings or report.unexplained) and not untried


def also(names: Sequence[str]) -> str:
    """` and 3 more (a, b, c)`."""
    if not names:
        return ""
    more = f", … {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f" and {len(names)} more ({', '.join(names[:_MOST_NAMES])}{more})"


def _fix(report: AppReport) -> str:
    finding = next((finding for finding in report.findings if finding.fixes), None)
    if finding is None:
        return "none known" if report.findings or report.unexplained else "none needed"
    fix = finding.fixes[0]
    mark = mark_of(fix, Terminal())
    return f"{fix.title}{f' ({mark})' if mark else ''} → whysync fix {app_argument(report.case)}"
