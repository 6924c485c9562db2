"""How long to wait after a failure: twice as long each time.

A real work queue starts with milliseconds; here the first wait is a second, so that all happens at whole
seconds and an hour of failures is a handful of attempts.
"""

from __future__ import annotations

from typing import Final

_FIRST: Final = 1.0
_LONGEST: Final = 1000.0
_MOST_DOUBLINGS: Final = 10


class Backoff:
    def __init__(self) -> None:
        self._failures: dict[tuple[str, str], int] = {}

    def next(self, key: tuple[str, str]) -> float:
        count = self._failures.get(key, 0)
        self._failures[key] = min(count + 1, _MOST_DOUBLINGS)
        return min(_FIRST * 2**count, _LONGEST)

    def forget(self, key: tuple[str, str]) -> None:
        self._failures.pop(key, None)
