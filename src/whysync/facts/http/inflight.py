"""Requests in flight, so that closing the client does not leak sockets.

If one of many requests fails, the client is closed while others are still running. A cancelled TLS handshake
keeps its socket open until garbage collection, so they get a moment to finish.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_MOMENT: Final = 1.0
"""Seconds. A handshake takes milliseconds; longer requests are cancelled."""


class InFlight:
    def __init__(self) -> None:
        self._ends: set[asyncio.Future[None]] = set()

    @contextmanager
    def one(self) -> Generator[None]:
        end = asyncio.get_running_loop().create_future()
        self._ends.add(end)
        try:
            yield
        finally:
            self._ends.discard(end)
            if not end.done():
                end.set_result(None)

    async def settled(self, seconds: float = _MOMENT) -> None:
        if self._ends:
            await asyncio.wait(self._ends, timeout=seconds)
