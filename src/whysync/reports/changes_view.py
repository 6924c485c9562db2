"""What changed since the app was well, for `diagnose -o wide`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from whysync.diagnosis.report import AppReport
from whysync.json_tree import Json
from whysync.queries.recent_changes import Change, recent_changes
from whysync.queries.sources import is_commit
from whysync.reports.terminal import Terminal, ago, one_line

_INDENT: Final = 17
_MOST: Final = 15


def change_lines(report: AppReport, terminal: Terminal) -> Iterator[str]:
    found = recent_changes(report.case)
    if found is None:
        return
    yield ""
    if found.began is not None:
        yield from _line(terminal, "began", f"{_when(found.began, report)}, Application {found.shown_by}")
    for number, change in enumerate(found.changes[:_MOST]):
        yield from _line(terminal, "" if number else "changed", _in_words(change, report, terminal))
    if not found.changes:
        yield from _line(terminal, "changed", "nothing that the facts contain")
    if len(found.changes) > _MOST:
        yield from _line(terminal, "", f"and {len(found.changes) - _MOST} more (-o json)")
    if found.gaps:
        yield from _line(terminal, "not known", "; ".join(f"{gap.what} ({gap.why})" for gap in found.gaps))


def _in_words(change: Change, report: AppReport, terminal: Terminal) -> str:
    about = "" if change.about == report.case.application.ref else f"{change.about} "
    what = change.what if change.what.startswith(about.strip() or "\0") else f"{about}{change.what}"
    who = f" by {change.who}" if change.who else ""
    values = ""
    if change.before is not None or change.after is not None:
        values = f": {_brief(change.before)} {terminal.mark('arrow')} {_brief(change.after)}"
    command = f"; {change.command}" if change.command else ""
    return one_line(f"{_when(change.time, report)}  {what}{who}{values}{command}")


def _when(time: datetime | None, report: AppReport) -> str:
    if time is None:
        return "time unknown"
    return f"{time:%Y-%m-%d %H:%M:%S} ({ago(report.case.age(time))})"


def _brief(value: Json) -> str:
    if isinstance(value, str):
        return value[:8] if is_commit(value) else one_line(value, 60)
    return "(none)" if value is None else one_line(json.dumps(value), 60)


def _line(terminal: Terminal, label: str, text: str) -> Iterator[str]:
    lines = terminal.wrap(text, indent=_INDENT, first=f"    {label}")
    if terminal.color and label:
        lines[0] = lines[0].replace(label, terminal.paint(label, "dim"), 1)
    yield from lines
