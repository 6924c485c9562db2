"""Deadline: the instant at which all work of one command ends (`--timeout`)."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """Shared by everything that one command does; without arguments there is no limit."""

    # as the user gave it, for messages
    seconds: float = 0.0
    # on the monotonic clock
    ends: float = math.inf

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now; 0 is without limit."""
        return cls(seconds=seconds, ends=time.monotonic() + seconds) if seconds > 0 else cls()

    def left(self) -> float:
        """Seconds, at least 0; infinite without a limit."""
        return max(0.0, self.ends - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.left() <= 0
