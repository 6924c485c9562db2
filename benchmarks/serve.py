"""`whysync serve` under load: `python -m benchmarks.serve [APPS] [SECONDS]`.

The apps have 30 resources each; a server that speaks Argo CD's API lets 20 of them change each second. 50
viewers load the fleet and an app in turn, and 50 browsers have a live page open, which they load again after
events. Measured: how long the page of an app takes to show its change, how long viewers wait, and the memory
of the process in the second and in the last quarter.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from statistics import mean, quantiles
from typing import Final

import httpx2
import msgspec

from benchmarks.diagnose import is_changed, name_of

APPS: Final = 1_000
LARGE: Final = 10_000
CHANGES: Final = 20
"""Apps that change each second."""
VIEWERS: Final = 50
SECONDS: Final = 120
LIVE_PAUSE: Final = 1.0
"""Seconds between two updates of an open page, as in `live.js`."""
_SAMPLE: Final = 1.0
_LONGEST: Final = 60.0
Row = tuple[str, str]


class Load(msgspec.Struct):
    """What was measured; times in seconds, memory in MiB."""

    start: float = 0.0
    processor: float = 0.0
    shown: list[float] = []
    fleet: list[float] = []
    app: list[float] = []
    updates: list[float] = []
    resident: list[float] = []
    late: int = 0


@contextmanager
def _process(*arguments: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A process and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield process, found.group()
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def _processor(pid: int) -> float:
    parts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def measured(apps: int, seconds: float) -> Load:
    with (
        tempfile.TemporaryDirectory() as folder,
        _process("benchmarks.serve_argocd", str(apps)) as (_, argocd),
    ):
        arguments = ("--server", argocd, "--plaintext", "--auth-token", "x", "--db", f"{folder}/whysync.db")
        started = time.perf_counter()
        with _process("whysync", "serve", *arguments, "--listen", "127.0.0.1:0") as (process, site):
            load = Load()
            while httpx2.get(f"{site}/readyz", timeout=60).status_code != 200:
                time.sleep(0.2)
            load.start = time.perf_counter() - started
            load.resident.append(resident(process.pid))
            before = _processor(process.pid)
            if seconds:
                asyncio.run(_run(load, site, argocd, apps, seconds, process.pid))
                load.processor = (_processor(process.pid) - before) / seconds
            return load


async def _run(load: Load, site: str, argocd: str, apps: int, seconds: float, pid: int) -> None:
    until = time.perf_counter() + seconds
    limits = httpx2.Limits(max_connections=200, keepalive_expiry=2)
    async with httpx2.AsyncClient(timeout=120, limits=limits) as client:
        await asyncio.gather(
            _changes(client, argocd, apps, until),
            _samples(load, client, site, argocd, apps, until),
            _memory(load, pid, until),
            *(_viewer(load, client, site, number, apps, until) for number in range(VIEWERS)),
            *(_live_page(load, client, site, number, until) for number in range(VIEWERS)),
        )


async def _changes(client: httpx2.AsyncClient, argocd: str, apps: int, until: float) -> None:
    """All apps in turn, except for those of the samples: one drifts, then one that had drifted recovers.

    So the number of broken apps stays the same.
    """
    healthy = (number for number in cycle(range(apps)) if number % 10 and not is_changed(number))
    drifted: deque[int] = deque()
    done, start = 0, time.perf_counter()
    while time.perf_counter() < until:
        if done % 2 == 0 or len(drifted) <= apps // 20:
            drifted.append(changed := next(healthy))
        else:
            changed = drifted.popleft()
        await client.get(f"{argocd}/change/{name_of(changed)}")
        done += 1
        await asyncio.sleep(max(0.0, start + done / CHANGES - time.perf_counter()))


async def _samples(
    load: Load, client: httpx2.AsyncClient, site: str, argocd: str, apps: int, until: float
) -> None:
    """Let one app drift, ask for its page until it shows it, and let it recover."""
    number = 0
    while time.perf_counter() < until:
        name = name_of(number % apps)
        number += 10
        await client.get(f"{argocd}/change/{name}")
        started = time.perf_counter()
        while "OutOfSync" not in (await client.get(f"{site}/apps/argocd/argocd/{name}")).text:
            if time.perf_counter() - started > _LONGEST:
                load.late += 1
                break
            await asyncio.sleep(0.1)
        load.shown.append(time.perf_counter() - started)
        await client.get(f"{argocd}/change/{name}")
        await asyncio.sleep(_SAMPLE)


async def _viewer(
    load: Load, client: httpx2.AsyncClient, site: str, number: int, apps: int, until: float
) -> None:
    """Looks at the fleet and at an app, each every two seconds."""
    await asyncio.sleep(2 * number / VIEWERS)
    while time.perf_counter() < until:
        for path, times in (
            ("/", load.fleet),
            (f"/apps/argocd/argocd/{name_of(number * 7 % apps)}", load.app),
        ):
            started = time.perf_counter()
            response = await client.get(site + path)
            assert response.status_code == 200, response.text
            times.append(time.perf_counter() - started)
            await asyncio.sleep(1.0)


async def _live_page(load: Load, client: httpx2.AsyncClient, site: str, number: int, until: float) -> None:
    """The fleet in an open browser: fetched again after events, at most once a second."""
    await asyncio.sleep(2 * number / VIEWERS)
    change, fetched = "0", time.perf_counter()
    async with client.stream("GET", f"{site}/api/v1/events") as events:
        async for line in events.aiter_lines():
            if time.perf_counter() > until:
                return
            if line.startswith("id: "):
                change = line.removeprefix("id: ")
            if time.perf_counter() - fetched > LIVE_PAUSE:
                fetched = time.perf_counter()
                response = await client.get(site, headers={"X-Whysync-Change": change})
                assert response.status_code == 200, response.text
                load.updates.append(time.perf_counter() - fetched)


async def _memory(load: Load, pid: int, until: float) -> None:
    while time.perf_counter() < until:
        load.resident.append(resident(pid))
        await asyncio.sleep(1.0)


def percentile(values: list[float]) -> float:
    return quantiles(values, n=20)[18] if len(values) > 1 else values[0]


def run(apps: int = APPS, seconds: float = SECONDS) -> list[Row]:
    load = measured(apps, seconds)
    rows = [
        (f"{apps:,} apps, from the start until all are read", f"{load.start:.0f} s"),
        ("memory then", f"{load.resident[0]:.0f} MiB"),
    ]
    if not seconds:
        return rows
    quarter = max(len(load.resident) // 4, 1)
    first, last = mean(load.resident[quarter : 2 * quarter]), mean(load.resident[-quarter:])
    return [
        *rows,
        (f"{CHANGES} changes a second: shown after (p95)", f"{percentile(load.shown):.2f} s"),
        (f"{VIEWERS} viewers: the fleet (p95)", f"{percentile(load.fleet) * 1000:.0f} ms"),
        (f"{VIEWERS} viewers: an app (p95)", f"{percentile(load.app) * 1000:.0f} ms"),
        (f"{VIEWERS} open pages: an update after an event (p95)", f"{percentile(load.updates):.2f} s"),
        ("memory in the second and in the last quarter", f"{first:.0f} and {last:.0f} MiB"),
        ("processor", f"{load.processor:.2f} cores"),
        ("changes not shown within a minute", str(load.late)),
    ]


def run_all(*, large: bool) -> Iterator[Row]:
    """A fleet under load; with `large` also how long many apps take to start."""
    yield from run()
    if large:
        yield from run(LARGE, 0)


if __name__ == "__main__":
    given = [float(argument) for argument in sys.argv[1:]]
    for label, figure in run(int(given[0]) if given else APPS, given[1] if len(given) > 1 else SECONDS):
        print(f"  {label:<48} {figure}", flush=True)
