"""`whysync serve --core` on a real API server: a change arrives by the watch, not by the next poll."""

from __future__ import annotations

import itertools
import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from suites.cluster.sources.real_cluster import RealCluster
from suites.web.server import served
from whysync.json_tree import Object, dig, fields, items, text

_POLL = "10m"
"""So long that within the test nothing is found by polling."""
_APPLICATION: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "watched", "namespace": "argocd"},
    "spec": {
        "project": "default",
        "source": {"repoURL": "https://git.example.com/watched.git", "path": ".", "targetRevision": "main"},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "default"},
    },
    "status": {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}},
}
_REFUSED = (
    "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown"
    " desc = authentication required"
)


def _apps(address: str) -> dict[str, Object]:
    with urllib.request.urlopen(f"{address}/api/v1/apps?q=watched&limit=500", timeout=30) as answer:
        body = fields(json.load(answer))
    return {text(dig(fields(app), "name")): fields(app) for app in items(body["apps"])}


def _shows(address: str, sync: str, *, within: float, after: Callable[[], None] = lambda: None) -> None:
    until = time.monotonic() + within
    while (found := text(_apps(address).get("watched", {}).get("sync"))) != sync:
        assert time.monotonic() < until, f"{found!r} instead of {sync!r} after {within} s"
        after()
        time.sleep(0.5)


def test_a_change_and_a_deletion_arrive_by_the_watch(cluster: RealCluster, tmp_path: Path) -> None:
    config = cluster.kubeconfig(tmp_path)
    cluster.put(_APPLICATION)
    with served("--core", "--kubeconfig", config, "--no-proof", "--interval", _POLL) as address:
        _shows(address, "Synced", within=60)
        condition: Object = {"type": "ComparisonError", "message": _REFUSED}
        status: Object = {"sync": {"status": "Unknown"}, "conditions": [condition]}
        numbers = itertools.count()

        def write() -> None:
            """Again and again: the first write may be earlier than the watch."""
            annotation: Object = {"example.com/write": str(next(numbers))}
            change: Object = {"metadata": {"annotations": annotation}, "status": status}
            cluster.patch(_APPLICATION, change, manager="argocd-application-controller")

        _shows(address, "Unknown", within=60, after=write)
        assert _apps(address)["watched"]["cause"] == "repo-auth"
        cluster.delete(_APPLICATION)
        _shows(address, "", within=60)
