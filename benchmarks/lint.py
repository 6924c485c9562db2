"""Speed and growth of `lint` with all checks, compared with reading the files and with kubeconform.

`python -m benchmarks.lint [MANIFESTS…]`
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import kubeconform
from benchmarks.read_bundle import _deployment as deployment  # pyright: ignore[reportPrivateUsage]  (the same object)
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.yaml import documents, dump
from whysync.lint.lint import lint

EACH = 5


def run(sizes: tuple[int, ...] = (1_000, 10_000)) -> Iterator[tuple[str, str]]:
    first: float | None = None
    with tempfile.TemporaryDirectory() as small:
        _write(Path(small), 100)
        lint([small])  # warm up: imports and schemas
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            _write(Path(folder), size)
            read = _seconds(lambda folder=folder: _read(Path(folder)))
            plain = _seconds(lambda folder=folder: _read_json(Path(folder)))
            seconds = _seconds(lambda folder=folder, size=size: _lint(folder, size))
            kubeconform_figure = _kubeconform_figure(Path(folder), size, seconds)
        each = seconds / size
        first = first or each
        growth = each / first
        yield (
            f"lint {size:,} manifests, all checks",
            f"{seconds:.2f} s, {size / seconds:,.0f} a second; "
            f"{seconds / read:.1f} times reading it as YAML, "
            f"{seconds / plain:.0f} times reading it as JSON; {growth:.2f} times the smallest's",
        )
        yield f"kubeconform, {size:,} manifests, schemas only", kubeconform_figure


def _kubeconform_figure(folder: Path, size: int, ours: float) -> str:
    try:
        spent = kubeconform.seconds(folder)
    except kubeconform.NotAvailable as why:
        return str(why)
    return f"{spent:.2f} s, {size / spent:,.0f} a second; whysync takes {ours / spent:.1f} times that"


def _seconds(work: Callable[[], None]) -> float:
    """Processor time, because the machine may be busy with other work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _lint(folder: str, size: int) -> None:
    outcome, _ = lint([folder])
    assert outcome.objects == size
    assert not outcome.findings, outcome.findings[0]


def _read(folder: Path) -> None:
    for file in folder.rglob("*.yaml"):
        for _ in documents(file.read_bytes()):
            pass


def _read_json(folder: Path) -> None:
    for file in folder.rglob("*.txt"):
        json.loads(file.read_bytes())


def _write(root: Path, manifests: int) -> None:
    """One app per file: a Deployment with its Service, ConfigMap, Ingress and ServiceAccount."""
    for number in range(manifests // EACH):
        name = f"app-{number:05d}"
        folder = root / f"team-{number % 50:02d}" / name
        folder.mkdir(parents=True)
        bodies = _app(name)
        (folder / "all.yaml").write_text("---\n".join(map(dump, bodies)))
        (folder / "all.txt").write_text(json.dumps(bodies))


def _app(name: str) -> list[Object]:
    workload = deployment(name, 0, live=False)
    name_of = f"{name}-0"
    meta: Object = {"name": name_of, "namespace": name}
    port: Object = {"number": 80}
    path: Object = {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": name_of, "port": port}},
    }
    rule: Json = {"host": f"{name}.example.com", "http": {"paths": [path]}}
    labels: Object = {"app.kubernetes.io/name": name_of, "app.kubernetes.io/instance": name}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": meta,
            "data": {"LOG_LEVEL": "info", "a.conf": "x\ny\n"},
        },
        workload,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": meta,
            "spec": {"rules": [rule]},
        },
    ]


def main() -> None:
    sizes = tuple(int(size) for size in sys.argv[1:]) or (1_000, 10_000)
    for label, figure in run(sizes):
        print(f"{label}: {figure}")


if __name__ == "__main__":
    main()
