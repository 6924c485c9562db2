"""Small situations for tests, built from a few words: Applications, bundles and Cases."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

from whysync.diagnosis.case import Case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.bundle import read_bundle
from whysync.json_tree import Json, Object

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = tuple(
    sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir() or path.suffix == ".yaml")
)
REVISION = "a3f1c29d0b7e4a8c9f6d5e4c3b2a190817263544"


def application(
    name: str = "shop",
    *,
    sync: str = "Synced",
    health: str = "Healthy",
    namespace: str = "argocd",
    labels: Mapping[str, str] | None = None,
    spec: Object | None = None,
    status: Object | None = None,
) -> Object:
    """An Application that Argo CD has compared; `spec` and `status` add to it."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {
            "project": "default",
            "source": {
                "repoURL": "https://git.example.com/shop.git",
                "path": "deploy",
                "targetRevision": "main",
            },
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
            **(spec or {}),
        },
        "status": {
            "sync": {"status": sync, "revision": REVISION},
            "health": {"status": health},
            "reconciledAt": "2026-03-02T03:10:00Z",
            **(status or {}),
        },
    }


def row(kind: str, name: str, status: str = "Synced", **more: Json) -> Object:
    """One line of `status.resources`, in namespace `shop`."""
    group = "apps" if kind in ("Deployment", "StatefulSet") else "batch" if kind == "Job" else ""
    return {
        "group": group,
        "version": "v1",
        "kind": kind,
        "namespace": "shop",
        "name": name,
        "status": status,
        **more,
    }


def config_map(name: str = "settings", *, data: Object | None = None, desired: bool = False) -> Object:
    """As it is in the cluster, or as Git wants it."""
    meta: Object = {"name": name, "namespace": "shop"}
    if desired:
        meta["annotations"] = {"whysync.dev/role": "desired"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data or {"a": "b"}}


def bundle(folder: Path, *objects: Object, name: str = "bundle.yaml") -> str:
    """One file that holds them all."""
    path = folder / name
    path.write_text(documents(*objects))
    return str(path)


def documents(*objects: Object) -> str:
    """JSON is YAML: one document for each object."""
    return "".join(f"---\n{json.dumps(obj)}\n" for obj in objects)


def world_of(*objects: Object) -> SnapshotIndex:
    return SnapshotIndex(read_bundle(["-"], stdin=io.BytesIO(documents(*objects).encode())))


def case_of(*objects: Object) -> Case:
    """The Case of the first Application among these objects."""
    world = world_of(*objects)
    manifest, app = world.decoded[0]
    return Case(world, manifest, app)
