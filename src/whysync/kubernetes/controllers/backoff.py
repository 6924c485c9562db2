"""Exponential back-off of a work queue, per key.

The real work queue starts with milliseconds. Here the first back-off is a second, so that everything happens
at whole seconds and an hour of failures is a handful of attempts.
"""

from __future__ import annotations

from typing import Final

_INITIAL_SECONDS: Final = 1.0
_MAX_SECONDS: Final = 1000.0
_MAX_DOUBLINGS: Final = 10


class Backoff:
    def __init__(self) -> None:
        self._failures: dict[tuple[str, str], int] = {}

    def next(self, key: tuple[str, str]) -> float:
        count = self._failures.get(key, 0)
        self._failures[key] = min(count + 1, _MAX_DOUBLINGS)
        return min(_INITIAL_SECONDS * 2**count, _MAX_SECONDS)

    def forget(self, key: tuple[str, str]) -> None:
        self._failures.pop(key, None)
