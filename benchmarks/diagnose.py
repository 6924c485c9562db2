"""Diagnose a fleet of apps with 30 resources each, from a bundle to the list of causes.

`python -m benchmarks.diagnose [APPS…]`. One app in ten was changed by hand, one in fifty cannot be compared.
Each size runs in a process of its own on one core, to measure its peak memory; the yardstick is decoding the
same files as JSON. Of a large fleet the commands `list` and `diagnose` are measured, on all cores.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.compare import custom_resource, deployment, service, stored
from whysync import app
from whysync.json_tree import Json, Object, fields, text
from whysync.processes.forked import all_of
from whysync.reports import list_view
from whysync.reports.terminal import Terminal

RESOURCES: Final = 30
SIZES: Final = (250, 500, 1_000)
LARGE: Final = 10_000
"""From this number of apps on, the commands are measured, on all cores."""
_SAMPLE_SECONDS: Final = 1.0
_MANY: Final = 500
"""From this number of apps on, processes write them."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One process. Seconds are processor time: other work on the machine does not count."""

    apps: int
    megabytes: float
    yardstick: float
    reading: float
    diagnosing: float
    listing: float
    peak: float
    findings: int

    @property
    def total(self) -> float:
        return self.reading + self.diagnosing + self.listing


def config_map(index: int) -> Object:
    """Some settings, and one file of YAML."""
    file = "".join(f"section-{n}:\n  setting: {index + n}\n" for n in range(10))
    data: Object = {"LOG_LEVEL": "info", "REGION": "north", "WORKERS": "4", "config.yaml": file}
    meta: Object = {"name": f"web-{index}", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


_MAKERS = (deployment, service, config_map, custom_resource)


def write(root: Path, apps: int) -> float:
    """The bundle, in megabytes."""
    return sum(all_of(lambda number: _write_app(root, number), apps, many=_MANY)) / 1e6


def _write_app(root: Path, number: int) -> int:
    total = 0
    for path, bodies in _app(number).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        content = text_of(bodies)
        file.write_text(content)
        total += len(content)
    return total


def text_of(bodies: list[Object]) -> str:
    """As `json.dumps` writes it, but much faster."""
    encoded = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": bodies})
    return msgspec.json.format(encoded, indent=0).decode()


def _app(number: int) -> dict[str, list[Object]]:
    desired, live = objects_of(number)
    return {
        f"applications/{name_of(number)}.json": [_application(number, desired, changed=is_changed(number))],
        f"desired/{name_of(number)}/all.json": desired,
        f"live/{name_of(number)}.json": live,
    }


def name_of(number: int) -> str:
    return f"app-{number:05d}"


def is_changed(number: int) -> bool:
    return number % 10 == 3


def objects_of(number: int, *, changed: bool | None = None) -> tuple[list[Object], list[Object]]:
    """The desired and the live objects of an app; `changed`: someone has changed one by hand."""
    name = name_of(number)
    desired = [in_namespace(_MAKERS[at % 4](number * RESOURCES + at), name) for at in range(RESOURCES)]
    live = [in_namespace(stored(manifest, at), name) for at, manifest in enumerate(desired)]
    if is_changed(number) if changed is None else changed:
        fields(live[0]["spec"])["replicas"] = 9
        claim: Object = {
            "manager": "kubectl-edit",
            "operation": "Update",
            "time": "2026-01-02T00:00:00Z",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }
        fields(live[0]["metadata"])["managedFields"] = [claim]
    return desired, live


def application_of(number: int, *, changed: bool | None = None) -> Object:
    drifted = is_changed(number) if changed is None else changed
    return _application(number, objects_of(number)[0], changed=drifted)


def _application(number: int, desired: list[Object], *, changed: bool) -> Object:
    rows = [row(desired_object) for desired_object in desired]
    if changed:
        rows[0]["status"] = "OutOfSync"
    return application(name_of(number), rows, broken=number % 50 == 7, changed=changed)


def in_namespace(body: Object, namespace: str) -> Object:
    """The object as one of the app and the namespace of this name."""
    metadata: Object = {**fields(body["metadata"]), "namespace": namespace}
    if annotations := fields(metadata.get("annotations")):
        moved = {key: text(value).replace("shop:", f"{namespace}:") for key, value in annotations.items()}
        metadata["annotations"] = {
            key: value.replace(":shop/", f":{namespace}/") for key, value in moved.items()
        }
    return {**body, "metadata": metadata}


def row(body: Object) -> Object:
    group, _, version = str(body["apiVersion"]).rpartition("/")
    meta = fields(body["metadata"])
    return {
        "group": group,
        "version": version,
        "kind": body["kind"],
        "namespace": meta["namespace"],
        "name": meta["name"],
        "status": "Synced",
        "health": {"status": "Healthy"},
    }


def application(name: str, rows: list[Object], *, broken: bool, changed: bool) -> Object:
    conditions: list[Json] = []
    if broken:
        message = "rpc error: code = Unknown desc = authentication required"
        conditions = [{"type": "ComparisonError", "message": message}]
    status = "Unknown" if broken else "OutOfSync" if changed else "Synced"
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {
            "project": "default",
            "source": {
                "repoURL": "https://git.example.com/fleet.git",
                "path": name,
                "targetRevision": "main",
            },
            "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
        },
        "status": {
            "sync": {"status": status, "revision": "a3f1c29d0b7e4a8c9f6d5e4c3b2a190817263544"},
            "health": {"status": "Healthy"},
            "reconciledAt": "2026-01-02T00:10:00Z",
            "conditions": conditions,
            "resources": [*rows],
        },
    }


def measured(root: Path, apps: int, megabytes: float) -> Figures:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # then whysync uses one process
    files = sorted(root.rglob("*.json"))
    start = _spent()
    for file in files:
        json.loads(file.read_bytes())
    decoded = _spent()
    world = app.read(app.FactSource(bundles=(str(root),)))
    read = _spent()
    report = app.diagnose(app.cases(world))
    diagnosed = _spent()
    table = list_view.render(report, Terminal())
    listed = _spent()
    assert table.count("\n") >= apps
    return Figures(
        apps=apps,
        megabytes=megabytes,
        yardstick=decoded - start,
        reading=read - decoded,
        diagnosing=diagnosed - read,
        listing=listed - diagnosed,
        peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        findings=sum(len(app.findings) for app in report.apps),
    )


def _spent() -> float:
    return time.process_time()


class CommandFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A command with all its processes."""

    wall: float
    processor: float
    resident: float
    """In MiB, at most: memory that processes share counts once."""


def of_command(*arguments: str) -> CommandFigures:
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "whysync", *arguments], stdout=output, stderr=subprocess.DEVNULL
        )
        resident = 0.0
        while True:
            resident = max(resident, _resident(process.pid))
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(_SAMPLE_SECONDS)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1), process.returncode  # 1: there are findings
    return CommandFigures(
        wall=time.perf_counter() - start, processor=used.ru_utime + used.ru_stime, resident=resident
    )


def _resident(pid: int) -> float:
    """The proportional set size of a process and its children in MiB."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has ended
        return 0.0
    own = next((line.split()[1] for line in rollup.splitlines() if line.startswith("Pss:")), "0")
    return int(own) / 1024 + sum(_resident(int(child)) for child in children)


def in_own_process(root: Path, apps: int, megabytes: float) -> Figures:
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.diagnose", "--measure", str(root), str(apps), str(megabytes)],
        stdout=subprocess.PIPE,
        check=True,
    )
    return msgspec.json.decode(process.stdout, type=Figures)


def run(sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[str, str]]:
    first: Figures | None = None
    for apps in sizes:
        if apps >= LARGE:
            yield from _commands(apps)
            continue
        with tempfile.TemporaryDirectory() as folder:
            figures = in_own_process(Path(folder), apps, write(Path(folder), apps))
        first = first or figures
        growth = (figures.total / figures.apps) / (first.total / first.apps)
        parts = f"read {figures.reading:.2f}, diagnose {figures.diagnosing:.2f}, list {figures.listing:.2f}"
        yield (
            f"{apps:,} apps x {RESOURCES} resources, {figures.megabytes:.0f} MB",
            f"{figures.total:.2f} s ({parts}), {figures.peak:,.0f} MiB at most, {figures.findings} findings",
        )
        yield (
            "  against decoding alone, and growth",
            f"{figures.total / figures.yardstick:.1f} times json.loads; for each app {growth:.2f} times"
            f" what it costs among {first.apps:,}",
        )


def _commands(apps: int) -> Iterator[tuple[str, str]]:
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        megabytes = write(Path(folder), apps)
        for verb in ("list", "diagnose"):
            figures = of_command(verb, "--bundle", folder)
            yield (
                f"{apps:,} apps x {RESOURCES} resources, {megabytes:,.0f} MB, `whysync {verb}`",
                f"{figures.wall:.0f} s on {cores} cores ({figures.processor:.0f} s of processor),"
                f" {figures.resident:,.0f} MiB resident in all processes at most",
            )


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        figures = measured(Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
        sys.stdout.buffer.write(msgspec.json.encode(figures))
        return
    sizes = tuple(int(size) for size in sys.argv[1:]) or SIZES
    for label, figure in run(sizes):
        print(f"{label}: {figure}", flush=True)


if __name__ == "__main__":
    main()
