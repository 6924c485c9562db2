"""Names that are almost alike: most references that lead nowhere are misspelt."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def near(name: str, others: Iterable[str]) -> str:
    """The one that was probably meant, or nothing."""
    found = get_close_matches(name, sorted(set(others) - {name}), 1, 0.85)
    return found[0] if found else ""
