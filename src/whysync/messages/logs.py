"""The line of a container's log that names the root cause.

Logs end with words that say little ("exiting with code 1"); the cause stands before them. Every line is
weighed: what it says (a refused connection says more than "error"), and how loud (fatal beats a warning). The
heaviest line wins, the first of equals. A trouble that a later line reports as over does not
count, and of a chain of Java causes the last one is the root.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import msgspec

from whysync.messages.log_patterns import LOG_PATTERNS, WORDS, LogReason

_MOST_LINES = 5000
_LONGEST_LINE = 2000


class LogFailure(msgspec.Struct, frozen=True, kw_only=True):
    """`line` counts from 1; `text` is the line as it stands; `subject` a host, user, file or name in it."""

    line: int
    text: str
    reason: LogReason
    subject: str = ""


_GENERIC = (
    r"exit(?:ing|ed)?(?: with)?(?: code| status)?:? ?\d{0,4}\.?$|npm err! (?:code|errno|"
    r"a complete log|lifecycle)|command terminated|"
    r"^make: \*\*\*|process (?:finished|exited)|^error: process completed|"
    r"exit status \d+$|shutting down|^traceback \(most recent|"
    r"0 errors|errors?[:=] ?0\b|no errors?\b|without errors?|error_log|errorlevel|"
    r"on_error|stderr|error handler (?:registered|installed)"
)
_OVER = (
    r"\b(?:connected|connection established|successfully connected|is (?:now )?(?:ready|"
    r"available|reachable|up)|"
    r"accepting connections|database (?:is )?ready|connection succeeded)\b"
)
_PASSING = {LogReason.CONNECTION_REFUSED, LogReason.DNS, LogReason.TIMEOUT, LogReason.AUTH_FAILED}
_LOUD = (
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
    """The line that names the root cause, or `None` where no line speaks of a failure at all."""
    first = max(0, len(lines) - _MOST_LINES)
    best: LogFailure | None = None
    best_weight = 0
    for number, line in enumerate(lines[first:], start=first + 1):
        text = line[:_LONGEST_LINE]
        lower = text.lower()
        if best and best.reason in _PASSING and _regex(_OVER).search(lower) and "not " not in lower:
            best, best_weight = None, 0
            continue
        weighed = _weigh(text, lower)
        if weighed is None:
            continue
        reason, weight, subject = weighed
        deeper = lower.lstrip().startswith("caused by:") and weight >= best_weight
        if weight > best_weight or deeper:
            best, best_weight = LogFailure(line=number, text=line, reason=reason, subject=subject), weight
    return best


def _weigh(text: str, lower: str) -> tuple[LogReason, int, str] | None:
    if not any(map(lower.__contains__, WORDS)) or "http: tls handshake error from" in lower:
        return None  # the latter is what a server says of a bad client
    for reason, weight, words, subject in LOG_PATTERNS:
        if not any(word in lower for word in words):
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
        return reason, weight + _loudness(text, lower), _subject(subject, text)
    return None


def _loudness(text: str, lower: str) -> int:
    """How loud a line is: its level in JSON, else the first telling word of a plain line."""
    if lower.lstrip().startswith("{"):
        level = _regex(r'"(?:level|severity|lvl|levelname)"\s*:\s*"?(\w{1,20})').search(text)
        return _LEVELS.get(level[1].lower(), -6) if level else 0
    for pattern, weight in _LOUD:
        if _regex(pattern).search(lower):
            return weight
    return 0


def _subject(pattern: str, text: str) -> str:
    match = _regex(pattern).search(text) if pattern else None
    if match is None:
        return ""
    return next((value for value in match.groupdict().values() if value), "").rstrip(".:'\"")
