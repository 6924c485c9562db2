"""Log lines as evidence and as part of a sentence: without time and level, and shortened."""

from __future__ import annotations

import re
from functools import cache

from whysync.diagnosis.case import Case
from whysync.diagnosis.evidence import Evidence, cite_line
from whysync.diagnosis.pods import logs_below
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.ref import Ref
from whysync.messages.log_patterns import LogReason
from whysync.messages.logs import LogFailure

_LONGEST = 160
_PREFIXES = {
    LogReason.CONNECTION_REFUSED: "connection refused to",
    LogReason.TIMEOUT: "no response in time from",
    LogReason.DNS: "no such host:",
    LogReason.AUTH_FAILED: "login rejected for user",
    LogReason.MISSING_ENV: "environment variable missing:",
    LogReason.MISSING_FILE: "file missing:",
    LogReason.MISSING_COMMAND: "command missing:",
    LogReason.MISSING_TABLE: "table missing:",
    LogReason.MISSING_DATABASE: "database missing:",
}


_HOST_REASONS = (LogReason.CONNECTION_REFUSED, LogReason.TIMEOUT, LogReason.DNS)


def root_cause_text(failure: LogFailure) -> str:
    """`connection refused to 10.0.1.45:5432` if the line names the target, else the line itself."""
    prefix = _PREFIXES.get(failure.reason)
    is_informative = bool(prefix) and (failure.reason not in _HOST_REASONS or _is_address(failure.subject))
    if not is_informative or not failure.subject:
        return log_line_text(failure.text)
    if failure.reason is LogReason.AUTH_FAILED:
        by = f" by {failure.server}{_port(failure)}" if failure.server else ""
        return f"{prefix} {failure.subject}{by}"
    return f"{prefix} {failure.subject}{_port(failure)}"


def _port(failure: LogFailure) -> str:
    """The port of `host "10.0.1.45", port 5432`, if the subject does not contain it."""
    _, separator, after = failure.text.partition(" port ")
    digits = after.split(" ", 1)[0].strip("?:,.)\"'")
    return f":{digits}" if separator and digits.isdigit() and ":" not in failure.subject else ""


def _is_address(subject: str) -> bool:
    return any(char in ".:-" or char.isdigit() for char in subject)


def log_line_text(line: str) -> str:
    bare = _prefix().sub("", line.strip()[:2000], count=1).strip() or line.strip()
    return bare if len(bare) <= _LONGEST else f"{bare[:_LONGEST].rstrip()}…"


@cache
def _prefix() -> re.Pattern[str]:
    """Matches the date, time and level that most loggers write."""
    return re.compile(
        r"^[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d| UTC)?[\])]?[\s|-]*"
        r"(?:\[?(?:ERROR|FATAL|CRITICAL|WARN(?:ING)?|INFO|ERR|PANIC)\]?[:\s|-]+)?",
        re.IGNORECASE,
    )


def last_log_line(case: Case, ref: Ref, *, killed: bool = False) -> Evidence | None:
    """The last line of the log of an object's Pods: the best hint if no object reports a reason.

    What a container that was killed wrote last is in the log of the previous container.
    """
    logs = logs_below(case, ref)
    for log in sorted(logs, key=lambda log: not log.previous) if killed else logs:
        if number := last_line(log):
            return cite_line(log, number, says="the last line of its log")
    return None


def last_line(log: Log) -> int:
    """The number of the last line that is not empty; 0 if there is none."""
    return next((number for number in range(len(log.lines), 0, -1) if log.lines[number - 1].strip()), 0)
