"""A rendered page for all viewers who see the same: many of them cost as much as one."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from whysync.web.http import Response

_RECENT: Final = 1.0
"""Seconds for which new viewers get a page although something changed: events tell them to update it."""
_LONGEST: Final = 5.0
"""Seconds after which a page is rendered again although nothing changed: the ages on it grow."""
_SHORTEST: Final = 0.1
"""Seconds between two renderings, so that a fleet that changes all the time does not keep a core busy."""
_PAUSE: Final = 4
"""The pause between two renderings, as a multiple of what one takes."""
_MOST_PAGES: Final = 64


class _Rendering(NamedTuple):
    version: int
    at: float
    pause: float
    response: Response


class _Page:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.last: _Rendering | None = None


class PageCache:
    """Keeps the last rendering of each page."""

    def __init__(
        self,
        version: Callable[[], int],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._version = version
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._pages: OrderedDict[Hashable, _Page] = OrderedDict()

    def get(self, key: Hashable, render: Callable[[], Response], *, after: int = 0) -> Response:
        """`key` names the page and all that it depends on except for the version.

        `after` is the version that the viewer knows of: the page is not older than that one.
        """
        after = min(after, self._version())
        page = self._page(key)
        last = page.last
        if last is not None and self._is_good(last, after):
            return last.response
        # while one viewer waits for the next rendering, the others see the last one
        can_wait = last is None or last.version < after or self._clock() - last.at >= _LONGEST
        if not page.lock.acquire(blocking=can_wait):
            assert last is not None
            return last.response
        try:
            if page.last is not None and page.last is not last and self._is_good(page.last, after):
                return page.last.response
            return self._rendered(page, render)
        finally:
            page.lock.release()

    def _is_good(self, last: _Rendering, after: int) -> bool:
        age = self._clock() - last.at
        limit = _LONGEST if last.version >= self._version() else _RECENT
        return last.version >= after and age < limit

    def _rendered(self, page: _Page, render: Callable[[], Response]) -> Response:
        last = page.last
        if last is not None and self._clock() - last.at < last.pause:
            self._sleep(last.pause - (self._clock() - last.at))
        version, began = self._version(), self._clock()
        response = render()
        now = self._clock()
        page.last = _Rendering(version, now, max(_SHORTEST, _PAUSE * (now - began)), response)
        return response

    def _page(self, key: Hashable) -> _Page:
        with self._lock:
            page = self._pages.setdefault(key, _Page())
            self._pages.move_to_end(key)
            while len(self._pages) > _MOST_PAGES:
                self._pages.popitem(last=False)
            return page
