"""Similar names, for hints: most references to missing objects are misspelled."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

_MAX_CANDIDATES = 200
_MAX_LOOKUPS = 100


def near(name: str, others: Iterable[str]) -> str:
    """The most similar name; empty if none is similar enough."""
    return _nearest(name, tuple(sorted(_likely(name, others)))[:_MAX_CANDIDATES])


@lru_cache(maxsize=4096)
def _nearest(name: str, others: tuple[str, ...]) -> str:
    matches = get_close_matches(name, others, 1, 0.85)
    return matches[0] if matches else ""


def _likely(name: str, others: Iterable[str]) -> set[str]:
    """Names of similar length with the same start or end: only these are compared in full."""
    start, end, length = name[:2], name[-3:], len(name)
    return {
        other
        for other in others
        if abs(len(other) - length) < 4 and (other[:2] == start or other[-3:] == end) and other != name
    }


class Names:
    """Many names of one kind, indexed by their start and end."""

    def __init__(self, names: Iterable[str]) -> None:
        self._lookups_left = _MAX_LOOKUPS
        self._by_end: dict[str, list[str]] = {}
        for name in sorted(set(names)):
            for end in (f"{name[:2]}*", f"*{name[-3:]}"):
                self._by_end.setdefault(end, []).append(name)

    def near(self, name: str) -> str:
        """The most similar name; empty after a hundred lookups, which limits the time."""
        if self._lookups_left <= 0:
            return ""
        self._lookups_left -= 1
        candidates = (
            *self._by_end.get(f"{name[:2]}*", ())[:5_000],
            *self._by_end.get(f"*{name[-3:]}", ())[:5_000],
        )
        return near(name, candidates)
