"""SIGTERM, as `timeout` and CI send it: children are ended and folders removed before whysync goes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class Terminated(BaseException):
    """Somebody asked us to end; no error, so nothing may catch it as one."""


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


@contextmanager
def ended_in_order() -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
