"""The thread that follows a live source's Applications, so that a change is read at once."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Final

from whysync.errors import WhysyncError
from whysync.facts.application_watch import ApplicationChange
from whysync.watch.sources import LiveSource

log = logging.getLogger(__name__)
Follow = Callable[[], AsyncGenerator[ApplicationChange | None]]
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_REACTION: Final = 0.2


class ApplicationStream:
    """`follow` opens the stream; `wake` is called after a change. Without a stream the source is polled."""

    def __init__(self, source: LiveSource, follow: Follow, wake: Callable[[], None]) -> None:
        self._source = source
        self._follow = follow
        self._wake = wake

    def run(self, stop: threading.Event, /) -> None:
        """Follow until `stop` is set, and connect again after growing pauses."""
        failures = 0
        while not stop.is_set():
            try:
                began = asyncio.run(self._until(stop))
            except WhysyncError as problem:
                began = False
                log.info("%s: the stream of Applications ended: %s", self._source.name, problem.what)
            except Exception:  # polling goes on without the stream
                began = False
                log.exception("following %s failed", self._source.name)
            self._source.stream_ended()
            failures = 0 if began else failures + 1
            if failures:
                stop.wait(min(_FIRST_PAUSE * 2 ** min(failures - 1, 10), _LONGEST_PAUSE))

    async def _until(self, stop: threading.Event) -> bool:
        """Follow one stream to its end, or until `stop` is set; returns whether it had begun."""
        task = asyncio.ensure_future(self.follow_once())
        while not task.done() and not stop.is_set():
            await asyncio.wait({task}, timeout=_REACTION)
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return True
        return task.result()

    async def follow_once(self) -> bool:
        began = False
        async for change in self._follow():
            if change is None:
                began = True
                self._source.stream_began()
            elif self._source.notice(change):
                self._wake()
        return began
