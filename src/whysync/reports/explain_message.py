"""`explain TEXT` in every output format: the possible causes of a pasted error message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.diagnosis.finding import Confidence
from whysync.diagnosis.symptom import Side
from whysync.json_tree import Json, Object
from whysync.messages.pasted import Origin
from whysync.queries.check_commands import checks_for, side_checks
from whysync.queries.commands import app_argument
from whysync.queries.possible_causes import NotUnderstood, PossibleCause, TextAnswer
from whysync.reports import output
from whysync.reports.json_yaml import as_json, as_yaml
from whysync.reports.markdown_text import BLANK, Md, code, fenced, joined, md, page
from whysync.reports.output import Safe
from whysync.reports.terminal import LABEL_WIDTH, Terminal, one_line

VERSION: Final = 1
_ORIGINS: Final = {
    Origin.CONDITION: "a condition of the Application",
    Origin.OPERATION: "the message of a sync",
    Origin.LONG_OPERATION: "the message of a sync that has been running for ten minutes or longer",
    Origin.RESULT: "a resource's result of a sync",
    Origin.HEALTH: "a resource's health message",
    Origin.EVENT: "an event",
    Origin.CONTAINER: "the state of a container",
    Origin.ARGOCD_LOG: "a log line of Argo CD",
    Origin.CONTAINER_LOG: "the log of a container that keeps crashing",
}
_SIDES: Final = {
    Side.COMPARE: "Argo CD could not compare: it could not read or render the source, or read the cluster",
    Side.APPLY: "a sync failed: something was rejected or did not finish",
    Side.HEALTH: "it is applied, but not healthy",
    Side.DRIFT: "Git and the cluster differ",
    Side.FRESH: "Argo CD has not refreshed the app",
    Side.NONE: "unknown",
}
_TRUNCATED: Final = "the middle of the text, which is too long"
_LONGEST_QUOTE: Final = 300
_FEW_ORIGINS: Final = 2


def render(answer: TextAnswer, terminal: Terminal, *, format: str) -> Safe:
    match format:
        case "json":
            return as_json(_as_object(answer))
        case "yaml":
            return as_yaml(_as_object(answer))
        case "name":
            return output.text(cause.finding.rule for cause in answer.causes)
        case "markdown":
            return page(_markdown(answer))
        case _:
            return output.text(_lines(answer, terminal, wide=format == "wide"))


def _headline(answer: TextAnswer) -> str:
    if not answer.causes:
        return "not understood: no rule matches this text"
    first = answer.causes[0].finding
    if answer.is_guess:
        count = len(answer.causes)
        possible = f"a possible cause: {first.cause}: {one_line(first.verdict)}"
        rest = possible if count == 1 else f"{count} possible causes, the likeliest first"
        return f"not understood: no rule matches exactly this text; {rest}"
    if len(answer.causes) == 1:
        return f"{first.cause}: {one_line(first.verdict)}"
    return f"{len(answer.causes)} possible causes, the likeliest first"


def _next_step(answer: TextAnswer) -> str:
    case = answer.causes[0].case if answer.causes else answer.not_understood[0].case
    placeholders = "replace words in capitals; " if answer.causes else ""
    return f"{placeholders}whysync diagnose {app_argument(case)} reads the facts behind the text"


def _lines(answer: TextAnswer, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    mark, color = ("bad", "red") if answer.causes and not answer.is_guess else ("unsure", "yellow")
    for line in terminal.wrap(f"{terminal.mark(mark)} {_headline(answer)}", indent=0):
        yield terminal.paint(line, "bold", color)
    for number, cause in enumerate(answer.causes, start=1):
        yield ""
        if len(answer.causes) > 1:
            title = f"{cause.finding.cause}: {one_line(cause.finding.verdict)}"
            lines = terminal.wrap(title, indent=3, first=f"{number}  ")
            yield from (terminal.paint(line, "bold") for line in lines)
        yield from _cause_lines(cause, terminal, wide=wide)
    for text in answer.not_understood:
        yield ""
        yield from _unknown_lines(text, terminal)
    yield ""
    if answer.is_cut:
        yield from terminal.labeled("not read", _TRUNCATED)
    yield from terminal.labeled("next", _next_step(answer))


def _cause_lines(cause: PossibleCause, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    finding = cause.finding
    if len(cause.origins) <= _FEW_ORIGINS:  # a text that can be anywhere means the same everywhere
        yield from terminal.labeled("read as", _places(cause))
    if finding.root and one_line(finding.root) not in one_line(finding.verdict):
        yield from terminal.labeled("because", one_line(finding.root))
    if finding.confidence is not Confidence.HIGH:
        yield from terminal.labeled("confidence", finding.confidence.value)
    for number, command in enumerate(checks_for(finding, cause.case)):
        yield f"{'' if number else '    check':<{LABEL_WIDTH}}{one_line(command)}"
    for number, fix in enumerate(finding.fixes if wide else finding.fixes[:1], start=1):
        yield from terminal.labeled(f"fix {number}" if number > 1 else "fix", one_line(fix.title))
        if fix.risk:
            yield from terminal.labeled("", f"risk: {one_line(fix.risk)}")
        if fix.destroys:
            yield from terminal.labeled("", f"destroys: {one_line(', '.join(fix.destroys))}")
    yield f"{'    page':<{LABEL_WIDTH}}whysync explain {finding.rule}"


def _unknown_lines(unknown: NotUnderstood, terminal: Terminal) -> Iterator[str]:
    yield from terminal.labeled("text", one_line(unknown.text, _LONGEST_QUOTE))
    for label, value in _known_about(unknown):
        yield from terminal.labeled(label, value)
    for number, command in enumerate(_checks(unknown)):
        yield f"{'' if number else '    check':<{LABEL_WIDTH}}{command}"


def _known_about(unknown: NotUnderstood) -> Iterator[tuple[str, str]]:
    """What is known about a text that no rule matches: its family, its reporter and its side."""
    if unknown.family:
        yield "family", unknown.family
    if unknown.reported_by:
        yield "reported by", one_line(unknown.reported_by, 120)
    if not unknown.has_reason:
        yield "reason", "the text reports a failure without its reason"
    yield "side", _SIDES[unknown.side]


def _checks(unknown: NotUnderstood) -> tuple[str, ...]:
    rows = unknown.case.app.status.resources
    return tuple(side_checks(unknown.side, unknown.case, rows[0].ref if rows else None))


def _places(cause: PossibleCause) -> str:
    return " or ".join(_ORIGINS[origin] for origin in cause.origins)


def _as_object(answer: TextAnswer) -> Object:
    return {
        "version": VERSION,
        "understood": bool(answer.causes) and not answer.is_guess,
        "truncated": answer.is_cut,
        "causes": [_cause_object(cause) for cause in answer.causes],
        "notUnderstood": [
            {
                "text": one_line(unknown.text, 2_000),
                "side": unknown.side.value,
                "family": unknown.family,
                "reportedBy": unknown.reported_by,
                "checks": [*_checks(unknown)],
            }
            for unknown in answer.not_understood
        ],
    }


def _cause_object(cause: PossibleCause) -> Object:
    finding = cause.finding
    origins: list[Json] = [origin.value for origin in cause.origins]
    return {
        "cause": finding.cause,
        "rule": finding.rule,
        "side": finding.side.value,
        "confidence": finding.confidence.value,
        "verdict": finding.verdict,
        "root": finding.root,
        "places": origins,
        "checks": [*checks_for(finding, cause.case)],
        "fixes": [
            {"title": fix.title, "kind": fix.kind.value, "risk": fix.risk, "destroys": [*fix.destroys]}
            for fix in finding.fixes
        ],
        "page": f"docs/rules/{finding.rule}.md",
    }


def _markdown(answer: TextAnswer) -> Iterator[Md]:
    yield md("# {}", _headline(answer))
    yield BLANK
    for cause in answer.causes:
        finding = cause.finding
        if len(answer.causes) > 1:
            yield md("## {}: {}", finding.cause, finding.verdict)
            yield BLANK
        yield md("- read as: {}", _places(cause))
        if finding.root and finding.root not in finding.verdict:
            yield md("- because: {}", finding.root)
        yield md("- confidence: {}", finding.confidence.value)
        if finding.fixes:
            yield md("- fix: {}", finding.fixes[0].title)
        yield md("- page: {}", code(f"whysync explain {finding.rule}"))
        yield BLANK
        yield md("Check:")
        yield BLANK
        yield from fenced(checks_for(finding, cause.case))
        yield BLANK
    for unknown in answer.not_understood:
        yield md("- not understood: {}", code(unknown.text, _LONGEST_QUOTE))
        for label, value in _known_about(unknown):
            yield md("- {}: {}", label, value)
        yield joined("", (md("- check: "), joined(", ", map(code, _checks(unknown)))))
    if answer.is_cut:
        yield md("- not read: {}", _TRUNCATED)
    yield md("{}.", _next_step(answer))
