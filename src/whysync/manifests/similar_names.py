"""Similar names: most references to missing objects are misspelt."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

_MOST = 200
_MOST_ASKED = 100


def near(name: str, others: Iterable[str]) -> str:
    """The name that was probably meant, or nothing."""
    return _nearest(name, tuple(sorted(_likely(name, others)))[:_MOST])


@lru_cache(maxsize=4096)
def _nearest(name: str, others: tuple[str, ...]) -> str:
    found = get_close_matches(name, others, 1, 0.85)
    return found[0] if found else ""


def _likely(name: str, others: Iterable[str]) -> set[str]:
    """A similar length, and equal at one end; only these are compared letter by letter."""
    start, end, length = name[:2], name[-3:], len(name)
    return {
        other
        for other in others
        if abs(len(other) - length) < 4 and (other[:2] == start or other[-3:] == end) and other != name
    }


class Names:
    """Many names of one kind, indexed by their start and end."""

    def __init__(self, names: Iterable[str]) -> None:
        self._left = _MOST_ASKED
        self._by_end: dict[str, list[str]] = {}
        for name in sorted(set(names)):
            for end in (f"{name[:2]}*", f"*{name[-3:]}"):
                self._by_end.setdefault(end, []).append(name)

    def near(self, name: str) -> str:
        """The similar name; nothing after hundreds of misses, which are not typing errors and take long."""
        if self._left <= 0:
            return ""
        self._left -= 1
        alike = (
            *self._by_end.get(f"{name[:2]}*", ())[:5_000],
            *self._by_end.get(f"*{name[-3:]}", ())[:5_000],
        )
        return near(name, alike)
