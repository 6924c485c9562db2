"""Cache of comparison results by the identity of the compared objects.

Live and rendered objects are never changed in place, so an identical object has the same result. The owner of
a `Memory` replaces it when the rules change (settings, ignore rules, the project).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class Memo(Generic[T]):
    """Results by object identity; results that two comparisons did not use are dropped."""

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._now: dict[tuple[int, ...], tuple[tuple[object, ...], T]] = {}
        self._before: dict[tuple[int, ...], tuple[tuple[object, ...], T]] = {}

    def recall(self, make: Callable[[], T], *about: object) -> T:
        # References to the objects are stored with the result, so that their ids stay unique.
        key = tuple(map(id, about))
        remembered = self._now.get(key)
        if remembered is None:
            remembered = self._before.get(key) or (about, make())
            self._now[key] = remembered
        return remembered[1]

    def start_comparison(self) -> None:
        """Drops the results that the last comparison did not use."""
        self._before, self._now = self._now, {}


class Memory:
    __slots__ = ("_memos",)

    def __init__(self) -> None:
        self._memos: dict[type, Memo[object]] = {}

    def memo(self, of: type[T]) -> Memo[T]:
        """The results of this type."""
        memo = self._memos.get(of)
        if memo is None:
            memo = self._memos[of] = Memo()
        return cast("Memo[T]", memo)

    def start_comparison(self) -> None:
        """Called when objects have changed, before a comparison."""
        for memo in self._memos.values():
            memo.start_comparison()
