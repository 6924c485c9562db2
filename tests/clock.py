"""Clocks for tests that pass on a busy machine: for network timeouts, and for the cost of a computation.

A request to a server of the tests that is answered within milliseconds can take half a second on a busy
machine, longer than the timeouts of tests with a silent server. So event loops wait in short steps, and a
step counts for no more than its length however long it took: the busier the machine, the slower the clock.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Callable

_STEP = 0.01


class _SteadyTime:
    """In place of the module `time` where timeouts of the network are computed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds = 0.0
        self._seen = time.monotonic()

    def monotonic(self) -> float:
        """Between two calls at most one step passes."""
        with self._lock:
            now = time.monotonic()
            self._seconds += min(now - self._seen, _STEP)
            self._seen = now
            return self._seconds


steady_time = _SteadyTime()


class _Steps(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout if timeout is None else min(timeout, _STEP))


class SteadyLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__(_Steps())

    def time(self) -> float:
        return steady_time.monotonic()


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor time of this process for `work`; other work on the machine does not count."""
    began = time.process_time()
    work()
    return time.process_time() - began
