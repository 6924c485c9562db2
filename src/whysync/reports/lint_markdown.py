"""`lint -o markdown`: a comment on a pull request, the verdict first, within GitHub's size limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.lint.outcome import Outcome
from whysync.reports.lint_text import counts_text
from whysync.reports.markdown_text import BLANK, Md, code, md, page, row, rule
from whysync.reports.output import Safe
from whysync.reports.terminal import one_line

LONGEST = 65_536
"""Characters that GitHub takes in one comment."""
_ROOM = 2_000
"""Kept for what is said at the end."""
_MARKS = {Severity.CRITICAL: "🔴", Severity.WARNING: "🟡", Severity.INFO: "🔵"}


def render(outcome: Outcome) -> Safe:
    lines = [*_verdict(outcome)]
    used = sum(len(line) + 1 for line in lines)
    omitted: list[Finding] = []
    ordered = sorted(outcome.findings, key=lambda candidate: -candidate.severity.weight)
    if ordered:
        head = [row("", "where", "what"), rule(3)]
        lines += head
        used += sum(len(line) + 1 for line in head)
    for number, finding in enumerate(ordered):
        line = _row(finding)
        if used + len(line) + 1 > LONGEST - 2 * _ROOM:
            omitted = ordered[number:]
            break
        lines.append(line)
        used += len(line) + 1
    if omitted:
        lines += _summary(omitted)
    used = sum(len(line) + 1 for line in lines)
    lines += _notes(outcome, LONGEST - used - 200)
    return page(lines)


def _verdict(outcome: Outcome) -> Iterator[Md]:
    checked = f"{outcome.objects:,} objects in {outcome.files:,} files"
    if not outcome.findings and not outcome.objects:
        yield md("## whysync lint: nothing to check")
    elif not outcome.findings:
        yield md("## ✅ whysync lint: nothing found")
    else:
        worst = max((finding.severity for finding in outcome.findings), key=lambda severity: severity.weight)
        yield md("## {} whysync lint: {}", _MARKS[worst], counts_text(outcome))
    yield BLANK
    hidden = [f"{len(outcome.suppressed)} ignored on purpose"] if outcome.suppressed else []
    hidden += [f"{outcome.in_baseline} in the baseline"] if outcome.in_baseline else []
    yield md("{}.", ", ".join([checked, *hidden]))
    yield BLANK


def _row(finding: Finding) -> Md:
    hint = md("<br>→ {}", one_line(finding.hint, 200)) if finding.hint else ""
    text = md("{}{}<br><sub>{}</sub>", one_line(finding.verdict, 400), hint, finding.rule)
    return row(_MARKS[finding.severity], code(finding.place, 200), text)


def _summary(omitted: list[Finding]) -> Iterator[Md]:
    """Omitted findings, counted by rule."""
    yield BLANK
    yield md("And {} more, for which there is no room here:", f"{len(omitted):,}")
    yield BLANK
    counts = Counter((finding.rule, finding.severity) for finding in omitted).most_common(15)
    for (check, severity), count in counts:
        yield md("- {} × {} ({})", f"{count:,}", code(check), severity.value)


def _notes(outcome: Outcome, room: int) -> Iterator[Md]:
    if not outcome.notes or room < 300:
        return
    yield BLANK
    yield md("<details><summary>Not checked ({})</summary>", len(outcome.notes))
    yield BLANK
    used = 200
    for number, note in enumerate(outcome.notes):
        prefix = md("{}: ", code(note.path, 200)) if note.path else ""
        line = md("- {}{}", prefix, one_line(note.why, 200))
        used += len(line) + 1
        if used > min(room, _ROOM):
            yield md("- and {} more", len(outcome.notes) - number)
            break
        yield line
    yield BLANK
    yield md("</details>")
