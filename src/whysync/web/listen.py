"""Runs the site on an address with uvicorn (extra `serve`), with watchers and the sender in threads."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from whysync.errors import UsageError
from whysync.web.asgi import Application
from whysync.web.site import Site

_STOP_SECONDS = 5.0
_THREADS = 64
"""Requests that are answered at once; most of them wait for the same page."""
_SWITCH_SECONDS = 0.001
"""A page needs several threads in turn, and each waits this long while a watcher diagnoses. Python's default
is five times as long."""


class Worker(Protocol):
    """Runs in a thread of its own: a watcher, or the sender of notifications."""

    def run(self, stop: threading.Event, /) -> None: ...


def serve(
    site: Site, workers: Sequence[Worker], *, host: str, port: int, started: Callable[[str, int], None]
) -> None:
    """Serve until a signal arrives; then streams are ended and the workers stop after their current step."""
    uvicorn = _uvicorn()
    sys.setswitchinterval(_SWITCH_SECONDS)
    stop = threading.Event()
    threads = [threading.Thread(target=worker.run, args=(stop,), daemon=True) for worker in workers]

    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
        application = Application(site)
        config = uvicorn.Config(
            application,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            timeout_graceful_shutdown=3,
            # longer than proxies keep idle connections: one that is used while it closes would be an error
            timeout_keep_alive=75,
            limit_concurrency=1_000,
            h11_max_incomplete_event_size=64 * 1024,
        )
        server: Any = uvicorn.Server(config)
        task = asyncio.ensure_future(server.serve())
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if server.started:
            address = server.servers[0].sockets[0].getsockname()
            started(address[0], address[1])
            for thread in threads:
                thread.start()
        while not server.should_exit and not task.done():
            await asyncio.sleep(0.1)
        application.close_streams()
        await task

    try:
        asyncio.run(run())
    except SystemExit as problem:  # uvicorn could not bind the address, and has logged why
        raise UsageError(
            what=f"{host}:{port} cannot be used",
            why="another program listens there, or the address is not one of this machine",
            next="pass another --listen",
        ) from problem
    finally:
        stop.set()
        for thread in threads:
            if thread.is_alive():
                thread.join(_STOP_SECONDS)


def _uvicorn() -> Any:
    try:
        import uvicorn  # pyright: ignore[reportMissingImports]  (only in the extra `serve`)
    except ImportError as problem:
        raise UsageError(
            what="whysync serve needs the HTTP server uvicorn", next="pip install 'whysync[serve]'"
        ) from problem
    return uvicorn
