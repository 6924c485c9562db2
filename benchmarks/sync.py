"""Simulate a whole sync: six waves, two hooks of ten minutes, workloads that roll out."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from datetime import timedelta

import msgspec

from whysync.argocd.repo_server.repository import GitRepositories, GitRepository
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.world import Controllers, World, WorldCluster
from whysync.json_tree import Json, Object
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.controllers.behavior import Behavior, PodBehavior

URL = "https://git.example.com/shop.git"
WAVES = 6


def run() -> Iterator[tuple[str, str]]:
    """Each size with its yardstick: decoding the same manifests from JSON a hundred times.

    Processor time, because the machine may be busy with other work.
    """
    smallest = 0.0
    for size in (200, 500, 1_000, 2_000):
        took, yardstick, simulated = _measured(size)
        each = took / size
        smallest = smallest or each
        figure = f"{took:6.2f} s for {simulated} on the model's clock, {took / yardstick:4.1f} yardsticks"
        yield f"{size} resources, {WAVES} waves", f"{figure}, a resource costs {each / smallest:.2f}"


def _measured(size: int) -> tuple[float, float, timedelta]:
    manifests = manifests_of(size)
    text = msgspec.json.encode(manifests)
    gc.disable()
    started = time.process_time()
    for _ in range(100):
        msgspec.json.decode(text)
    yardstick = time.process_time() - started
    gc.enable()
    gc.collect()
    started = time.process_time()
    simulated = play(manifests)
    return time.process_time() - started, yardstick, simulated


def play(manifests: list[Object]) -> timedelta:
    """Sync to an empty cluster until Synced and Healthy; returns the simulated duration."""
    clock = Clock()
    git = GitRepository(url=URL, clock=clock)
    git.push({"shop": manifests})
    nodes = len(manifests) // 50 + 3
    slow_hooks = Behavior(pods=(PodBehavior(name="hook-*", runs_seconds=600),))
    cluster = WorldCluster(controllers=Controllers.ALL, behavior=slow_hooks, nodes=nodes)
    repositories = GitRepositories([git])
    simulation = Simulation(
        World(clock=clock, repository=repositories, applications=(APPLICATION,), clusters=(cluster,))
    )
    start = clock.now
    status = simulation.argocd.sync_and_health
    if not simulation.until(lambda: status("argocd/shop") == ("Synced", "Healthy"), timedelta(hours=3)):
        raise SystemExit(f"the sync did not succeed: {status('argocd/shop')}")
    return clock.now - start


def manifests_of(size: int) -> list[Object]:
    """A third each of Deployments, Services and ConfigMaps, over all waves, and a hook before and after."""
    manifests = [hook("hook-before", "PreSync"), hook("hook-after", "PostSync")]
    makers = (deployment, service, config_map)
    manifests += [makers[at % 3](f"part-{at:04}", at * WAVES // size) for at in range(size - len(manifests))]
    return manifests


def deployment(name: str, wave: int) -> Object:
    labels: Json = {"app": name}
    container: Json = {
        "name": "main",
        "image": "registry.example.com/shop:1",
        "ports": [{"containerPort": 80}],
    }
    spec: Json = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _meta(name, wave), "spec": spec}


def service(name: str, wave: int) -> Object:
    spec: Json = {"selector": {"app": name}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _meta(name, wave), "spec": spec}


def config_map(name: str, wave: int) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _meta(name, wave), "data": {"level": "info"}}


def hook(name: str, phase: str) -> Object:
    container: Json = {"name": "main", "image": "registry.example.com/hook:1"}
    template: Json = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    annotations: Json = {"argocd.argoproj.io/hook": phase}
    meta: Json = {"name": name, "annotations": annotations}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}


def _meta(name: str, wave: int) -> Object:
    return {"name": name, "annotations": {"argocd.argoproj.io/sync-wave": str(wave)}}


APPLICATION: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "shop", "namespace": "argocd"},
    "spec": {
        "project": "default",
        "source": {"repoURL": URL, "path": "shop", "targetRevision": "main"},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
        "syncPolicy": {"automated": {"prune": True}, "syncOptions": ["CreateNamespace=true"]},
    },
}


if __name__ == "__main__":
    for what, figure in run():
        print(f"{what:<48} {figure}", flush=True)
