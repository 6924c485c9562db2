"""What a comparison may remember for the next one: results that hang on nothing but objects that stay the
same.

Live objects are never changed in place, and neither are rendered ones: the same object, not merely an equal
one, gives the same result. Whoever keeps a `Memory` throws it away when the rules change (settings, ignore
rules, the project).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class Memo(Generic[T]):
    """Results by the identity of what they are about; what two comparisons did not ask for is forgotten."""

    __slots__ = ("_before", "_now")

    def __init__(self) -> None:
        self._now: dict[tuple[int, ...], tuple[tuple[object, ...], T]] = {}
        self._before: dict[tuple[int, ...], tuple[tuple[object, ...], T]] = {}

    def recall(self, make: Callable[[], T], *about: object) -> T:
        # The objects are kept with the result: as long as they are, nothing else can have their identity.
        key = tuple(map(id, about))
        remembered = self._now.get(key)
        if remembered is None:
            remembered = self._before.get(key) or (about, make())
            self._now[key] = remembered
        return remembered[1]

    def turn(self) -> None:
        """Another comparison begins."""
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

    def turn(self) -> None:
        """Something changed, and a comparison is made in earnest: what it does not ask for is old."""
        for memo in self._memos.values():
            memo.turn()
