"""SIGTERM, as `timeout` and CI send it, is taken like Ctrl-C: children end and folders go first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class Terminated:
    """`asked` once somebody has sent the signal."""

    def __init__(self) -> None:
        self.asked = False

    def heard(self, _number: int, frame: FrameType | None) -> None:
        """Whoever listens for Ctrl-C right now, such as an event loop, knows how to stop in order."""
        self.asked = True
        listening = signal.getsignal(signal.SIGINT)
        if callable(listening):
            listening(signal.SIGINT, frame)
        else:  # Ctrl-C is ignored, as behind `nohup`
            raise KeyboardInterrupt


@contextmanager
def taken_like_ctrl_c() -> Generator[Terminated]:
    terminated = Terminated()
    if threading.current_thread() is not threading.main_thread():
        yield terminated
        return
    before = signal.signal(signal.SIGTERM, terminated.heard)
    try:
        yield terminated
    finally:
        signal.signal(signal.SIGTERM, before)
