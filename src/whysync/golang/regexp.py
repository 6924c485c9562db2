"""Regular expressions that users write between slashes, for namespaces of Applications.

Argo CD runs them with regexp2 (.NET's dialect), unanchored. Plain ones run here with Python's `re`; those
that could take forever run in a child process with a limit, and count as no match when they exceed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from whysync.golang.glob import glob_match
from whysync.processes.sandbox import Worker, WorkerDied, WorkerTooSlow

_SECONDS = 1.0
_MOST_REPEATS = 2
_REPEATED_GROUP = r"\)[*+{]"
_REPEAT = r"[*+{]"
_WORKER = Worker("whysync.golang.regexp", memory=512 * 1024 * 1024)


def matches_any(patterns: Iterable[str], text: str) -> bool:
    """Mirrors `glob.MatchStringInList` with regular expressions: `/…/` is one, and also a glob."""
    for pattern in patterns:
        is_regex = len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/")
        if (is_regex and regex_match(pattern[1:-1], text)) or glob_match(pattern, text):
            return True
    return False


@lru_cache(maxsize=4096)
def regex_match(pattern: str, text: str) -> bool:
    """Does the pattern occur in the text? One that does not compile occurs nowhere."""
    if len(re.findall(_REPEAT, pattern)) <= _MOST_REPEATS and not re.search(_REPEATED_GROUP, pattern):
        return _search(pattern, text)
    try:
        return _WORKER.ask(f"{pattern}\0{text}".encode(errors="replace"), seconds=_SECONDS) == b"y"
    except (WorkerTooSlow, WorkerDied):
        return False


def handle(request: bytes) -> bytes:
    """The child's side."""
    pattern, _, text = request.decode().partition("\0")
    return b"y" if _search(pattern, text) else b"n"


def _search(pattern: str, text: str) -> bool:
    try:
        return re.search(re.sub(r"\(\?<(?![=!])", "(?P<", pattern), text) is not None
    except (re.error, RecursionError, OverflowError):
        return False
