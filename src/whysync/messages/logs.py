"""Find the line with the root cause in a container's log.

Logs often end with generic lines ("exiting with code 1"). Every line is weighed by its pattern (a refused
connection weighs more than "error") and by its level (fatal weighs more than warning). The line with the
highest weight is used, and the first one of equal weight. A problem that a later line reports as solved is
dropped. In a chain of Java causes the last one is the root cause.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import msgspec

from whysync.messages.failure import Failure
from whysync.messages.log_line import parse_log_line
from whysync.messages.log_patterns import LOG_PATTERNS, PHRASES, LogReason
from whysync.messages.parse import understand
from whysync.messages.patterns.admission import WebhookDown
from whysync.messages.patterns.apply import KindNotServed
from whysync.messages.patterns.rbac import Forbidden

# Parts of the texts below: most lines have none of them, and are not parsed.
_REFUSED_REQUESTS = (
    "is forbidden: User ",
    "no matches for kind",
    "could not find the requested resource",
    "failed calling webhook",
)
_MOST_LINES = 5000
_LONGEST_LINE = 2000


class LogFailure(msgspec.Struct, frozen=True, kw_only=True):
    """`line` counts from 1; `text` is the whole line, with the next one if the line only announces that.

    `subject` is a host, user, file or name in it.
    """

    line: int
    text: str
    reason: LogReason
    subject: str = ""

    @property
    def is_wrong_password(self) -> bool:
        """Does the server name the password? It also refuses a missing user, a network, a token."""
        return _regex(_WRONG_PASSWORD).search(self.text) is not None

    @property
    def server(self) -> str:
        """The host name of the server that refused, if the line names it."""
        match = _regex(_SERVER).search(self.text)
        return match["host"] if match is not None else ""


_GENERIC = (
    r"exit(?:ing|ed)?(?: with)?(?: code| status)?:? ?\d{0,4}\.?$|npm err! (?:code|errno|"
    r"a complete log|lifecycle)|command terminated|"
    r"^make: \*\*\*|process (?:finished|exited)|^error: process completed|"
    r"exit status \d+$|shutting down|^traceback \(most recent|"
    r"0 errors|errors?[:=] ?0\b|no errors?\b|without errors?|error_log|errorlevel|"
    r"on_error|stderr|error handler (?:registered|installed)"
)
_SOLVED = (
    r"\b(?:connected|connection established|successfully connected|is (?:now )?(?:ready|"
    r"available|reachable|up)|"
    r"accepting connections|database (?:is )?ready|connection succeeded)\b"
)
_WRONG_PASSWORD = (
    r"password authentication failed|access denied for user .*using password: yes|wrongpass|"
    r"invalid (?:username or )?password|password (?:is )?incorrect|login failed for user"
)
_SERVER = r"(?:server at|host|to) [\"'`]?(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){1,10})[\"'`,: ]"
_TRANSIENT = {LogReason.CONNECTION_REFUSED, LogReason.DNS, LogReason.TIMEOUT, LogReason.AUTH_FAILED}
_LEVEL_WORDS = (
    (r"\b(?:fatal|panic|critical|emerg|crit)\b|level=fatal", 4),
    (r"\b(?:error|err|severe|e\d{4})\b|exception|error:", 2),
    (r"\b(?:warn|warning)\b|retry(?:ing)?\b|will try again|attempt \d+", -4),
    (r"\b(?:info|debug|trace)\b", -6),
)
_LEVELS = {
    "fatal": 4,
    "panic": 4,
    "critical": 4,
    "error": 2,
    "err": 2,
    "severe": 2,
    "warn": -4,
    "warning": -4,
}


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def log_failure(lines: Sequence[str]) -> LogFailure | None:
    """The line with the root cause, or `None` if no line reports a failure."""
    first = max(0, len(lines) - _MOST_LINES)
    best: LogFailure | None = None
    best_weight = 0
    for number, line in enumerate(lines[first:], start=first + 1):
        text = line[:_LONGEST_LINE]
        lower = text.lower()
        if best and best.reason in _TRANSIENT and _regex(_SOLVED).search(lower) and "not " not in lower:
            best, best_weight = None, 0
            continue
        weighed = _weigh(text, lower)
        if weighed is None:
            continue
        reason, weight, subject = weighed
        deeper = lower.lstrip().startswith("caused by:") and weight >= best_weight
        if weight > best_weight or deeper:
            whole = _with_announced(lines, number)
            best, best_weight = LogFailure(line=number, text=whole, reason=reason, subject=subject), weight
    return best


def _with_announced(lines: Sequence[str], number: int) -> str:
    """The line, with the next one if it only announces that: a panic of Rust has its message there."""
    line = lines[number - 1]
    following = lines[number].strip() if number < len(lines) and line.rstrip().endswith(":") else ""
    return f"{line.rstrip()} {following}" if following else line


def refused_requests(line: str) -> tuple[Failure, ...]:
    """Requests of the container that the API server refuses or cannot serve, as the line reports them.

    They are without their text, which may have a time in it: equal failures are the same request.
    """
    if not any(map(line.__contains__, _REFUSED_REQUESTS)):
        return ()
    parsed = parse_log_line(line)
    failures = understand(parsed.text).failures if parsed.is_loud else ()
    refused = (
        failure for failure in failures if isinstance(failure, (Forbidden, KindNotServed, WebhookDown))
    )
    return tuple(msgspec.structs.replace(failure, text="") for failure in refused)


def _weigh(text: str, lower: str) -> tuple[LogReason, int, str] | None:
    if not any(map(lower.__contains__, PHRASES)) or "http: tls handshake error from" in lower:
        return None  # a TLS handshake error is reported by a server about a client
    for reason, weight, phrases, subject in LOG_PATTERNS:
        if not any(phrase in lower for phrase in phrases):
            continue
        if weight < 24 and _regex(_GENERIC).search(lower):
            return None
        if reason is LogReason.MISSING_TABLE and "already exists" in lower:
            continue
        if (
            reason is LogReason.AUTH_FAILED
            and 'role "' in lower
            and "does not exist" not in lower
            and "fail" not in lower
        ):
            continue
        if reason in (LogReason.MISSING_DATABASE, LogReason.MISSING_TABLE) and not _regex(
            r"not exist|no such|unknown|undefined|could not find|nodatabase"
        ).search(lower):
            continue
        if reason is LogReason.EXCEPTION and not _regex(r"\w(?:error|exception)\b|caused by:|^error:").search(
            text
        ):
            continue
        return reason, weight + _level_weight(text, lower), _subject(subject, text)
    return None


def _level_weight(text: str, lower: str) -> int:
    """The weight of the level of a line: from JSON, else from the first level word in the text."""
    if lower.lstrip().startswith("{"):
        level = _regex(r'"(?:level|severity|lvl|levelname)"\s*:\s*"?(\w{1,20})').search(text)
        return _LEVELS.get(level[1].lower(), -6) if level else 0
    for pattern, weight in _LEVEL_WORDS:
        if _regex(pattern).search(lower):
            return weight
    return 0


def _subject(pattern: str, text: str) -> str:
    match = _regex(pattern).search(text) if pattern else None
    if match is None:
        return ""
    return next((value for value in match.groupdict().values() if value), "").rstrip(".:'\"")
