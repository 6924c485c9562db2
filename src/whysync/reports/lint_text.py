"""`lint` as text: one line per finding, `file:line:column: severity rule message`, as compilers print it.

Findings of the severity `info`, and many warnings of one rule, are counted: a large repository fits on one
page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.lint.outcome import Outcome, in_order
from whysync.reports import output
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal, one_line

_COLORS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_MOST_NOTES = 10
_MOST_WARNINGS = 10
"""Of one rule; all others are counted."""
_MOST_INFOS = 1


def render(outcome: Outcome, terminal: Terminal, *, wide: bool = False) -> Safe:
    listed, counted = (list(outcome.findings), []) if wide else _divided(outcome.findings)
    lines = [_line(finding, terminal) for finding in listed]
    lines += [_summary(findings, terminal) for findings in counted]
    lines += [""] if lines else []
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
    if not outcome.findings and not outcome.objects:
        return f"{terminal.mark('dot')} nothing to check: {checked}{hidden_note}"
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


def _divided(findings: Iterable[Finding]) -> tuple[list[Finding], list[list[Finding]]]:
    """The findings that are listed, and the rest by severity and rule."""
    groups: dict[tuple[Severity, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.severity, finding.rule), []).append(finding)
    listed: list[Finding] = []
    counted: list[list[Finding]] = []
    for (severity, _), group in groups.items():
        most = {Severity.WARNING: _MOST_WARNINGS, Severity.INFO: _MOST_INFOS}.get(severity, len(group))
        shown = 0 if severity is Severity.INFO and len(group) > most else most
        listed += group[:shown]
        if group[shown:]:
            counted.append(group[shown:])
    counted.sort(key=lambda group: (-group[0].severity.weight, -len(group), group[0].rule))
    return list(in_order(listed)), counted


def _line(finding: Finding, terminal: Terminal) -> str:
    severity = terminal.paint(finding.severity.value, _COLORS[finding.severity])
    hint = f" ({one_line(finding.hint, 300)})" if finding.hint else ""
    return f"{_place(finding)}: {severity} {finding.rule} {one_line(finding.verdict, 600)}{hint}"


def _place(finding: Finding) -> str:
    column = finding.location.column if finding.location else 0
    return f"{finding.path or '.'}:{finding.line or 1}:{column or 1}"


def _summary(findings: list[Finding], terminal: Terminal) -> str:
    """One line for findings of the same rule and severity."""
    severity = terminal.paint(findings[0].severity.value, _COLORS[findings[0].severity])
    files = _many(len({finding.path for finding in findings}), "file")
    more = "more " if findings[0].severity is Severity.WARNING else ""
    count = f"{len(findings):,} {more}in {files}"
    return f"{severity} {findings[0].rule} {count}, such as {_place(findings[0])} (-o wide shows all)"


def _suppressed(outcome: Outcome) -> Iterator[str]:
    for suppressed in outcome.suppressed:
        yield f"ignored  {suppressed.finding.place}  {suppressed.finding.rule}: {one_line(suppressed.reason)}"
    if outcome.suppressed:
        yield ""


def _notes(outcome: Outcome, terminal: Terminal, *, wide: bool) -> Iterator[str]:
    """What was not checked, by reason; only the first entries unless `wide`."""
    groups: dict[str, list[str]] = {}
    for note in outcome.notes:
        groups.setdefault(note.why, []).append(note.path)
    if wide:
        entries = [(note.path, note.why) for note in outcome.notes]
    else:
        entries = [
            (paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more", why)
            for why, paths in groups.items()
        ]
    shown = entries if wide else entries[:_MOST_NOTES]
    for path, why in shown:
        prefix = f"{path}: " if path else ""
        yield terminal.paint(f"not checked  {prefix}{one_line(why)}", "dim")
    if len(entries) > len(shown):
        count = len(entries) - len(shown)
        yield terminal.paint(f"not checked  and {count} more (-o wide shows all)", "dim")
    if outcome.notes:
        yield ""


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
