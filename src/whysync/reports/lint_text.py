"""`lint` as text: findings by file, each with a hint."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from whysync.diagnosis.finding import Finding, Severity
from whysync.lint.outcome import Outcome
from whysync.reports import output
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal, one_line

_COLORS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_MOST_NOTES = 10


def render(outcome: Outcome, terminal: Terminal, *, wide: bool = False) -> Safe:
    lines = [line for path, group in _by_file(outcome) for line in _file(path, group, terminal)]
    lines += _suppressed(outcome) if wide else []
    lines += _notes(outcome, terminal, wide=wide)
    lines.append(verdict(outcome, terminal))
    return output.text(lines)


def verdict(outcome: Outcome, terminal: Terminal) -> str:
    """One line: the number of findings by severity, and of objects and files."""
    checked = f"{_many(outcome.objects, 'object')} in {_many(outcome.files, 'file')}"
    hidden = [f"{len(outcome.suppressed)} ignored on purpose"] if outcome.suppressed else []
    hidden += [f"{outcome.in_baseline} in the baseline"] if outcome.in_baseline else []
    hidden_note = f" ({', '.join(hidden)})" if hidden else ""
    if not outcome.findings:
        good_mark = terminal.paint(terminal.mark("good"), "green")
        return f"{good_mark} nothing found: {checked}{hidden_note}"
    counts = counts_text(outcome)
    has_problems = any(finding.severity is not Severity.INFO for finding in outcome.findings)
    mark = terminal.paint(terminal.mark("bad"), "red") if has_problems else terminal.mark("dot")
    return f"{mark} {counts}: {checked}{hidden_note}"


def counts_text(outcome: Outcome) -> str:
    severities = (
        (Severity.CRITICAL, "critical", ""),
        (Severity.WARNING, "warning", "s"),
        (Severity.INFO, "info", ""),
    )
    counts = [(outcome.count(severity), word, plural) for severity, word, plural in severities]
    return ", ".join(
        f"{count} {word}{plural if count > 1 else ''}" for count, word, plural in counts if count
    )


def _by_file(outcome: Outcome) -> Iterator[tuple[str, list[Finding]]]:
    for path, group in groupby(outcome.findings, key=lambda finding: finding.path):
        yield path, list(group)


def _file(path: str, findings: list[Finding], terminal: Terminal) -> Iterator[str]:
    yield terminal.paint(path or "(no file)", "bold")
    width = max(len(str(finding.line or "-")) for finding in findings)
    for finding in findings:
        line = str(finding.line or "-").rjust(width)
        severity = f"{finding.severity.value:<8}"
        first = f"  {line}  {severity}  "
        text = one_line(finding.verdict, 600)
        wrapped = terminal.wrap(f"{text}  [{finding.rule}]", indent=len(first), first=first)
        wrapped[0] = wrapped[0].replace(severity, terminal.paint(severity, _COLORS[finding.severity]), 1)
        yield from wrapped
        if finding.hint:
            arrow = f"{'':<{len(first)}}{terminal.mark('arrow')} "
            yield from terminal.wrap(one_line(finding.hint, 300), indent=len(arrow), first=arrow)
    yield ""


def _suppressed(outcome: Outcome) -> Iterator[str]:
    for suppressed in outcome.suppressed:
        yield f"ignored  {suppressed.finding.place}  {suppressed.finding.rule}: {one_line(suppressed.reason)}"
    if outcome.suppressed:
        yield ""


def _notes(outcome: Outcome, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """What was not checked; only the first entries unless `wide`."""
    notes = outcome.notes if wide else outcome.notes[:_MOST_NOTES]
    for note in notes:
        prefix = f"{note.path}: " if note.path else ""
        yield terminal.paint(f"not checked  {prefix}{one_line(note.why)}", "dim")
    if len(outcome.notes) > len(notes):
        yield terminal.paint(
            f"not checked  and {len(outcome.notes) - len(notes)} more (-o wide shows all)", "dim"
        )
    if outcome.notes:
        yield ""


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
