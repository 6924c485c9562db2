"""Findings as workflow commands of GitHub Actions: annotations on the lines of a pull request."""

from __future__ import annotations

from whysync.diagnosis.finding import Severity
from whysync.lint.remark import Outcome, Remark
from whysync.reports.screen import one_line

_COMMANDS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(outcome: Outcome) -> str:
    """The worst first: GitHub shows ten of each kind for one step."""
    worst_first = sorted(outcome.remarks, key=lambda remark: -remark.severity.weight)
    return "".join(f"{_line(remark)}\n" for remark in worst_first)


def _line(remark: Remark) -> str:
    hint = f" ({remark.hint})" if remark.hint else ""
    kind, line = _COMMANDS[remark.severity], str(max(remark.line, 1))
    return command(kind, f"{remark.message}{hint}", file=remark.path, line=line, title=remark.check)


def command(kind: str, told: str, **properties: str) -> str:
    """One line; nothing in it can begin another command."""
    where = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {where}::{_data(one_line(told, 1_000))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text, 1_000)).replace(":", "%3A").replace(",", "%2C")
