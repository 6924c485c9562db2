"""What lint found, as a comment on a pull request: the verdict first, and never too long for one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from whysync.diagnosis.finding import Severity
from whysync.lint.remark import Outcome, Remark
from whysync.reports.lint_view import told_counts
from whysync.reports.markdown import escaped
from whysync.reports.screen import one_line, plain

LONGEST = 65_536
"""Characters that GitHub takes in one comment."""
_ROOM = 2_000
"""Kept for what is said at the end."""
_MARKS = {Severity.CRITICAL: "🔴", Severity.WARNING: "🟡", Severity.INFO: "🔵"}


def render(outcome: Outcome) -> str:
    lines = [*_verdict(outcome)]
    used = sum(len(line) + 1 for line in lines)
    left: list[Remark] = []
    ordered = sorted(outcome.remarks, key=lambda one: -one.severity.weight)
    if ordered:
        head = ["| | where | what |", "|---|---|---|"]
        lines += head
        used += sum(len(line) + 1 for line in head)
    for number, remark in enumerate(ordered):
        row = _row(remark)
        if used + len(row) + 1 > LONGEST - 2 * _ROOM:
            left = ordered[number:]
            break
        lines.append(row)
        used += len(row) + 1
    if left:
        lines += _summary(left)
    used = sum(len(line) + 1 for line in lines)
    lines += _notes(outcome, LONGEST - used - 200)
    return "\n".join(lines).rstrip() + "\n"


def _verdict(outcome: Outcome) -> Iterator[str]:
    looked = f"{outcome.objects:,} objects in {outcome.files:,} files"
    if not outcome.remarks:
        yield "## ✅ whysync lint: nothing found"
    else:
        worst = max((remark.severity for remark in outcome.remarks), key=lambda one: one.weight)
        yield f"## {_MARKS[worst]} whysync lint: {told_counts(outcome)}"
    yield ""
    aside = [f"{len(outcome.suppressed)} ignored on purpose"] if outcome.suppressed else []
    aside += [f"{outcome.in_baseline} in the baseline"] if outcome.in_baseline else []
    yield f"{looked}{''.join(f', {one}' for one in aside)}."
    yield ""


def _row(remark: Remark) -> str:
    hint = f"<br>→ {escaped(one_line(remark.hint, 200))}" if remark.hint else ""
    said = escaped(one_line(remark.message, 400))
    return (
        f"| {_MARKS[remark.severity]} | {_code(remark.place)} | {said}{hint}<br><sub>{remark.check}</sub> |"
    )


def _summary(left: list[Remark]) -> Iterator[str]:
    """What has no room is counted, by check."""
    yield ""
    yield f"And {len(left):,} more, for which there is no room here:"
    yield ""
    counts = Counter((remark.check, remark.severity) for remark in left).most_common(15)
    yield from (f"- {count:,} × `{check}` ({severity.value})" for (check, severity), count in counts)


def _notes(outcome: Outcome, room: int) -> Iterator[str]:
    if not outcome.notes or room < 300:
        return
    yield ""
    yield f"<details><summary>Not checked ({len(outcome.notes)})</summary>"
    yield ""
    used = 200
    for number, note in enumerate(outcome.notes):
        where = f"{_code(note.path)}: " if note.path else ""
        line = f"- {where}{escaped(one_line(note.why, 200))}"
        used += len(line) + 1
        if used > min(room, _ROOM):
            yield f"- and {len(outcome.notes) - number} more"
            break
        yield line
    yield ""
    yield "</details>"


def _code(text: str) -> str:
    return f"`{one_line(plain(text), 200).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
