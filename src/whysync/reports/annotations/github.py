"""Workflow commands of GitHub Actions: annotations on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.diagnosis.finding import Severity
from whysync.reports.annotations.annotation import Annotation
from whysync.reports.output import Safe, one_safe_line
from whysync.reports.terminal import one_line

_COMMANDS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(rows: Iterable[Annotation]) -> Safe:
    """The worst first: GitHub shows ten of each kind for one step."""
    problems = [(row.severity, row) for row in rows if row.severity is not None and row.skipped is None]
    problems.sort(key=lambda problem: -problem[0].weight)
    commands = (f"{_COMMANDS[severity]} {_command(row)}" for severity, row in problems)
    return Safe("".join(f"::{one_safe_line(command)}\n" for command in commands))


def _command(row: Annotation) -> str:
    """A command on one line; values cannot start another command."""
    properties = {"title": row.title, **({"file": row.file} if row.file else {})}
    if row.line is not None:
        properties = {"file": row.file, "line": str(max(row.line, 1)), "title": row.rule}
    parameters = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"{parameters}::{_data(one_line(row.text, 1_000))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text, 1_000)).replace(":", "%3A").replace(",", "%2C")
