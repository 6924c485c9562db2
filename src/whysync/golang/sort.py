"""Go's `sort.Sort`, which is not stable: where equal items end up depends on the algorithm.

The order of equal items is visible where Kubernetes sorts a list whose keys are not unique. Mirrors Go 1.26
`sort.pdqsort` (since Go 1.19). Sorting with a `less` that is also true for equal items has a defined result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

_MAX_INSERTION: Final = 12
_SHORTEST_NINTHER: Final = 50
_SHORTEST_SHIFTING: Final = 50
_MAX_STEPS: Final = 5
_MAX_SWAPS: Final = 12
_WORD: Final = 0xFFFFFFFFFFFFFFFF


def go_sorted(items: Iterable[Item], less: Callable[[Item, Item], bool]) -> list[Item]:
    """The items in the order in which `sort.Sort` leaves them."""
    data = _Data(items, less)
    length = len(data.items)
    if length > 1:
        data.sort(0, length, length.bit_length())
    return data.items


class _Hint(Enum):
    UNKNOWN = auto()
    INCREASING = auto()
    DECREASING = auto()


class _Data(Generic[Item]):
    """A list with the functions of `zsortinterface.go`; ranges are from `a` to before `b`."""

    def __init__(self, items: Iterable[Item], less: Callable[[Item, Item], bool]) -> None:
        self.items = list(items)
        self._less = less

    def less(self, i: int, j: int) -> bool:
        return self._less(self.items[i], self.items[j])

    def swap(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    def sort(self, a: int, b: int, limit: int) -> None:
        balanced = partitioned = True
        while True:
            length = b - a
            if length <= _MAX_INSERTION:
                self._insertion_sort(a, b)
                return
            if limit == 0:
                self._heap_sort(a, b)
                return
            if not balanced:
                self._break_patterns(a, b)
                limit -= 1
            pivot, hint = self._choose_pivot(a, b)
            if hint is _Hint.DECREASING:
                self.items[a:b] = self.items[a:b][::-1]
                pivot = (b - 1) - (pivot - a)
                hint = _Hint.INCREASING
            if balanced and partitioned and hint is _Hint.INCREASING and self._partial_insertion_sort(a, b):
                return
            if a > 0 and not self.less(a - 1, pivot):
                a = self._partition_equal(a, b, pivot)
                continue
            middle, partitioned = self._partition(a, b, pivot)
            left, right = middle - a, b - middle
            balanced = min(left, right) >= length // 8
            if left < right:
                self.sort(a, middle, limit)
                a = middle + 1
            else:
                self.sort(middle + 1, b, limit)
                b = middle

    def _insertion_sort(self, a: int, b: int) -> None:
        for i in range(a + 1, b):
            j = i
            while j > a and self.less(j, j - 1):
                self.swap(j, j - 1)
                j -= 1

    def _heap_sort(self, a: int, b: int) -> None:
        high = b - a
        for i in range((high - 1) // 2, -1, -1):
            self._sift_down(i, high, a)
        for i in range(high - 1, -1, -1):
            self.swap(a, a + i)
            self._sift_down(0, i, a)

    def _sift_down(self, root: int, high: int, first: int) -> None:
        while (child := 2 * root + 1) < high:
            if child + 1 < high and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def _partition(self, a: int, b: int, pivot: int) -> tuple[int, bool]:
        """Move smaller items before the pivot; returns its new index, and whether they were there already."""
        self.swap(a, pivot)
        i, j, already = a + 1, b - 1, True
        while True:
            while i <= j and self.less(i, a):
                i += 1
            while i <= j and not self.less(j, a):
                j -= 1
            if i > j:
                break
            self.swap(i, j)
            i, j, already = i + 1, j - 1, False
        self.swap(j, a)
        return j, already

    def _partition_equal(self, a: int, b: int, pivot: int) -> int:
        self.swap(a, pivot)
        i, j = a + 1, b - 1
        while True:
            while i <= j and not self.less(a, i):
                i += 1
            while i <= j and self.less(a, j):
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i, j = i + 1, j - 1

    def _partial_insertion_sort(self, a: int, b: int) -> bool:
        """Correct a few pairs of an almost sorted range; true if it is sorted then."""
        i = a + 1
        for _ in range(_MAX_STEPS):
            while i < b and not self.less(i, i - 1):
                i += 1
            if i == b:
                return True
            if b - a < _SHORTEST_SHIFTING:
                return False
            self.swap(i, i - 1)
            if i - a >= 2:
                self._shift(range(i - 1, 0, -1))
            if b - i >= 2:
                self._shift(range(i + 1, b))
        return False

    def _shift(self, indexes: Iterable[int]) -> None:
        for j in indexes:
            if not self.less(j, j - 1):
                break
            self.swap(j, j - 1)

    def _break_patterns(self, a: int, b: int) -> None:
        length = b - a
        random, mask = length, (1 << length.bit_length()) - 1
        start = a + (length // 4) * 2
        for index in range(start - 1, start + 2):
            random = _xorshift(random)
            other = random & mask
            self.swap(index, a + (other - length if other >= length else other))

    def _choose_pivot(self, a: int, b: int) -> tuple[int, _Hint]:
        """The median of three items, or of three medians in a long range."""
        quarter = (b - a) // 4
        candidates = [a + quarter, a + quarter * 2, a + quarter * 3]
        swaps = 0
        if b - a >= _SHORTEST_NINTHER:
            medians = [self._median(index - 1, index, index + 1) for index in candidates]
            candidates = [index for index, _ in medians]
            swaps = sum(count for _, count in medians)
        pivot, count = self._median(*candidates)
        swaps += count
        hints = {0: _Hint.INCREASING, _MAX_SWAPS: _Hint.DECREASING}
        return pivot, hints.get(swaps, _Hint.UNKNOWN)

    def _median(self, a: int, b: int, c: int) -> tuple[int, int]:
        """The index of the median, and the number of swaps that sorting the three takes."""
        swaps = 0
        if self.less(b, a):
            a, b, swaps = b, a, swaps + 1
        if self.less(c, b):
            b, c, swaps = c, b, swaps + 1
        if self.less(b, a):
            a, b, swaps = b, a, swaps + 1
        return b, swaps


def _xorshift(state: int) -> int:
    state ^= state << 13 & _WORD
    state ^= state >> 7
    return (state ^ state << 17) & _WORD
