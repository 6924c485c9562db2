"""Speed and growth of reading a fleet from a bundle, as YAML and as JSON.

`python -m benchmarks.read_bundle [APPS…]`
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from whysync.facts.bundle import read_bundle
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.yaml import dump

RESOURCES = 30
ADDED = 1


def run(sizes: tuple[int, ...] = (100, 500)) -> Iterator[tuple[str, str]]:
    """Labels and figures; the first size is the yardstick for the others."""
    for kind in ("json", "yaml"):
        first: float | None = None
        for apps in sizes:
            with tempfile.TemporaryDirectory() as folder:
                size = _write(Path(folder), apps, kind)
                seconds = _seconds(Path(folder), apps)
            each = seconds / apps
            first = first or each
            growth = f", {each / first:.2f} times the smallest fleet's time for each app"
            yield (
                f"read {apps:,} apps of {RESOURCES} resources as {kind}",
                f"{seconds:.2f} s, {size / seconds / 1e6:.1f} MB/s of {size / 1e6:.0f} MB{growth}",
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield "peak memory of all of this", f"{peak:,.0f} MiB"


def _seconds(folder: Path, apps: int) -> float:
    """Processor time, because the machine may be busy with other work."""
    start = time.process_time()
    snapshot = read_bundle([folder])
    seconds = time.process_time() - start
    assert len(snapshot.applications) == apps
    assert len(snapshot.live) == apps * (RESOURCES + ADDED)
    return seconds


def _write(root: Path, apps: int, kind: str) -> int:
    """One file of live and one of desired objects for each app, and its Application."""
    total = 0
    for number in range(apps):
        name = f"app-{number:05d}"
        live = [_deployment(name, at, live=True) for at in range(RESOURCES)]
        parts: dict[str, list[Object]] = {
            f"applications/{name}": [_application(name)],
            f"live/{name}": [*live, _secret(name)],
            f"desired/{name}/all": [_deployment(name, at, live=False) for at in range(RESOURCES)],
        }
        for path, bodies in parts.items():
            text = _text(bodies, kind)
            file = root / f"{path}.{kind}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            total += len(text)
    return total


def _text(bodies: list[Object], kind: str) -> str:
    if kind == "json":
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}, indent=1)
    return "---\n".join(map(dump, bodies))


def _application(name: str) -> Object:
    rows: list[Json] = [
        {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": name, "name": f"{name}-{at}"}
        for at in range(RESOURCES)
    ]
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
        "status": {"sync": {"status": "OutOfSync"}, "health": {"status": "Degraded"}, "resources": rows},
    }


def _secret(name: str) -> Object:
    metadata: Object = {"name": f"{name}-credentials", "namespace": name}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "stringData": {"password": f"pw-{name}-Xy7"},
    }


def _deployment(app: str, number: int, *, live: bool) -> Object:
    name = f"{app}-{number}"
    labels: Object = {"app.kubernetes.io/name": name, "app.kubernetes.io/instance": app}
    env: list[Json] = [{"name": f"SETTING_{at}", "value": f"value {at} of {name}"} for at in range(6)]
    container: Object = {
        "name": "main",
        "image": f"registry.example.com/{app}:1.2.{number}",
        "env": env,
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
    }
    metadata: Object = {"name": name, "namespace": app, "labels": labels}
    body: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    if live:
        metadata["uid"] = f"00000000-0000-4000-8000-{abs(hash(name)) % 10**12:012d}"
        metadata["managedFields"] = [_managed(manager) for manager in ("argocd-controller", "kubectl-edit")]
        body["status"] = {
            "replicas": 2,
            "conditions": [{"type": "Available", "status": "True", "message": "Deployment is available."}],
        }
    return body


def _managed(manager: str) -> Json:
    container: Object = {"f:image": {}, "f:env": {}, "f:ports": {}, "f:resources": {"f:limits": {}}}
    spec: Object = {"f:template": {"f:spec": {"f:containers": {'k:{"name":"main"}': container}}}}
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "apps/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}, **spec}},
    }


def main() -> None:
    sizes = tuple(int(size) for size in sys.argv[1:]) or (100, 1_000)
    for label, figure in run(sizes):
        print(f"{label}: {figure}")


if __name__ == "__main__":
    main()
