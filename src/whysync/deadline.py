"""The time of a command: its limit (`--timeout`), and how much of its work is left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple


class Deadline(NamedTuple):
    """The time at which all work of a command ends; by default there is no limit."""

    seconds: float = 0.0
    """The value of `--timeout`, for messages."""
    ends: float = math.inf
    """On the monotonic clock."""

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """A deadline this many seconds from now; 0 is no limit."""
        return cls(seconds=seconds, ends=time.monotonic() + seconds) if seconds > 0 else cls()

    def remaining(self) -> float:
        """The remaining seconds, at least 0; infinite without a limit."""
        return max(0.0, self.ends - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.remaining() <= 0


def time_left(done: int, total: int, seconds: float) -> str:
    """`, about 20 s left`, assuming that the rest is as fast; empty if that is unknown."""
    if not 0 < done < total:
        return ""
    left = seconds * (total - done) / done
    return f", about {left / 60:.0f} min left" if left >= 90 else f", about {max(left, 1):.0f} s left"


def stage(what: str, total: int, tell: Callable[[str, int], None] | None) -> Callable[[int], None]:
    """Tells `rendering apps: 3 of 20, about 8 s left` whenever it is called with what is done."""
    start = time.monotonic()

    def done_so_far(done: int) -> None:
        if tell is not None:
            tell(f"{what}: {done:,} of {total:,}{time_left(done, total, time.monotonic() - start)}", done)

    return done_so_far
