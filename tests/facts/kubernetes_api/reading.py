"""Read a fake API server as the command line would."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.facts.http.faulty import FaultyServer, RequestHandler, faulty_server
from tests.facts.kubernetes_api.fake_api import kubeconfig
from whysync.facts.http.limits import HttpLimits
from whysync.facts.kubernetes_api import KubeAccess, read_kubernetes
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Snapshot

QUICK = HttpLimits(
    connect_seconds=5,
    idle_seconds=0.2,
    try_seconds=0.4,
    tries_after_silence=5,
    call_seconds=10,
    first_pause_seconds=0.001,
    longest_pause_seconds=0.002,
    per_second=0,
)


@contextmanager
def serving(answering: RequestHandler) -> Generator[FaultyServer]:
    """In a thread: the source runs a loop of its own."""
    ready, done = threading.Event(), None
    started: list[tuple[FaultyServer, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        async with faulty_server(answering) as server:
            stop = asyncio.Event()
            started.append((server, asyncio.get_running_loop(), stop))
            ready.set()
            await stop.wait()

    done = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    done.start()
    assert ready.wait(120)
    server, loop, stop = started[0]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        done.join()


def read(
    answering: RequestHandler,
    selection: Selection | None = None,
    *,
    limits: HttpLimits = QUICK,
    everything: bool = False,
    namespace: str = "",
    use_cluster_secrets: bool = False,
    others: dict[str, str] | None = None,
) -> Snapshot:
    with serving(answering) as server, tempfile.TemporaryDirectory() as home:
        config = kubeconfig(Path(home), server.url, **(others or {}))
        access = KubeAccess(
            kubeconfig=str(config),
            limits=limits,
            environment={},
            namespace=namespace,
            use_cluster_secrets=use_cluster_secrets,
        )
        return read_kubernetes(access, selection or Selection(), everything=everything)
