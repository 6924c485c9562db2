"""Findings as workflow commands of GitHub Actions: annotations on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.diagnosis.finding import Severity
from whysync.lint.remark import Outcome, Remark
from whysync.reports.output import Safe, one_safe_line
from whysync.reports.screen import one_line

_COMMANDS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


class Command(str):
    """One workflow command: values in it are data of that command."""

    __slots__ = ()


def render(outcome: Outcome) -> Safe:
    """The worst first: GitHub shows ten of each kind for one step."""
    worst_first = sorted(outcome.remarks, key=lambda remark: -remark.severity.weight)
    return commands(map(_line, worst_first))


def _line(remark: Remark) -> Command:
    hint = f" ({remark.hint})" if remark.hint else ""
    kind, line = _COMMANDS[remark.severity], str(max(remark.line, 1))
    return command(kind, f"{remark.message}{hint}", file=remark.path, line=line, title=remark.check)


def command(kind: str, told: str, **properties: str) -> Command:
    """One line; nothing in it can begin another command."""
    where = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return Command(f"::{kind} {where}::{_data(one_line(told, 1_000))}")


def commands(lines: Iterable[Command]) -> Safe:
    return Safe("".join(f"::{one_safe_line(line.removeprefix('::'))}\n" for line in lines))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text, 1_000)).replace(":", "%3A").replace(",", "%2C")
