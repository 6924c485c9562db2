"""Requests that are on the wire right now, so that a client can leave without leaving sockets behind.

Where one question of many fails, the client is closed while others are still being asked. A TLS handshake
that is cancelled half-way keeps its socket open until the garbage collector comes: they get a moment to end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_MOMENT: Final = 1.0
"""Seconds. A handshake takes milliseconds; whoever asks for longer is cancelled after all."""


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
