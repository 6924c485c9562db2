"""A rendered page for all viewers who see the same: many of them cost as much as one."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from whysync.web.http import Response

_LONGEST: Final = 5.0
"""Seconds after which a page is rendered again although nothing changed: the ages on it grow."""
_SHORTEST: Final = 0.1
"""Seconds between two renderings, so that a fleet that changes all the time does not keep a core busy."""
_MOST_PAGES: Final = 64


class _Page:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.version = -1
        self.at = 0.0
        self.response: Response | None = None


class PageCache:
    """Keeps the last rendering of each page. A page is never older than the version that a viewer knows."""

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

    def get(self, key: Hashable, render: Callable[[], Response]) -> Response:
        """`key` names the page and all that it depends on except for the version."""
        wanted = self._version()
        page = self._page(key)
        with page.lock:  # those who ask while it is rendered get the same one
            age = self._clock() - page.at
            if page.response is not None and page.version >= wanted and age < _LONGEST:
                return page.response
            if page.response is not None and age < _SHORTEST:
                self._sleep(_SHORTEST - age)
            version = self._version()
            page.response = render()
            page.version, page.at = version, self._clock()
            return page.response

    def _page(self, key: Hashable) -> _Page:
        with self._lock:
            page = self._pages.setdefault(key, _Page())
            self._pages.move_to_end(key)
            while len(self._pages) > _MOST_PAGES:
                self._pages.popitem(last=False)
            return page
