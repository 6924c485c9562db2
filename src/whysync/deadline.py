"""Deadline: the time limit of a command (`--timeout`)."""

from __future__ import annotations

import math
import time
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
