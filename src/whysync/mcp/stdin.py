"""Lines of standard input for an event loop, read by a daemon thread.

The SDK reads in a thread that must end before the process can: a signal would wait for the client's next
message. Here the thread is left behind.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Final

_CHUNK: Final = 1 << 16
_MOST_WAITING: Final = 100
"""Messages that are read ahead."""
_LONGEST_LINE: Final = 4 << 20


class Lines:
    """An asynchronous iterator of lines. Meanwhile, file descriptor 0 is empty for child processes."""

    def __init__(self) -> None:
        self._input = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_MOST_WAITING)
        threading.Thread(target=self._read, name="standard input", daemon=True).start()

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._queue.get()
        self._room.release()
        if line is None:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    def _read(self) -> None:
        rest = b""
        while data := os.read(self._input, _CHUNK):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._put(line)
            if len(rest) > _LONGEST_LINE:  # no message is that long
                rest = b""
        if rest:
            self._put(rest)
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        self._room.acquire()
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, line)
        except RuntimeError:  # the loop is closed, and the process ends
            return
