"""Show progress while waiting for a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

Progress = Callable[[str, int], None]
_INTERVAL_SECONDS: Final = 0.5


@asynccontextmanager
async def report_waiting(
    progress: Progress | None, name: str, *, every: float = _INTERVAL_SECONDS
) -> AsyncGenerator[None]:
    """Calls `progress` repeatedly until the block ends."""
    if progress is None:
        yield
        return
    report = progress

    async def tick() -> None:
        while True:
            await asyncio.sleep(every)
            report(f"{name} (no response yet)", 0)

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
