"""Situations to serve: of the lab, unmasked as a cluster has them, and small ones made by hand."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from tests.played import played
from whysync.facts.simulated import snapshot_of
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object, copy_object
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest, Role

NOW = datetime(2026, 3, 2, 9, 5, tzinfo=UTC)


def of_lab(name: str) -> Snapshot:
    """The end of a scenario with its secrets in the clear: whoever serves it has to mask them, or not."""
    done = played(name)
    snapshot = snapshot_of(done.simulation)
    return replace(
        snapshot,
        argocd_version=done.scenario.argocd.version,
        applications=_copies(snapshot.applications),
        projects=_copies(snapshot.projects),
        settings=_copies(snapshot.settings),
        desired={app: _copies(manifests) for app, manifests in snapshot.desired.items()},
        live=_copies(snapshot.live),
        events=_copies(snapshot.events),
    )


def _copies(manifests: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    return tuple(manifest.with_body(copy_object(manifest.body)) for manifest in manifests)


def application(
    name: str,
    *,
    namespace: str = "argocd",
    sync: str = "Synced",
    health: str = "Healthy",
    compared: str = "2026-03-02T09:04:00Z",
    **more: Object,
) -> Manifest:
    body: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}-{name}",
            **more.get("meta", {}),
        },
        "spec": {
            "project": "default",
            "source": {"repoURL": "https://git.example.com/apps.git", "path": name, "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
            **more.get("spec", {}),
        },
        "status": {
            "sync": {"status": sync, "revision": "a" * 40},
            "health": {"status": health},
            "reconciledAt": compared,
            "resourceHealthSource": "appTree",
            **more.get("status", {}),
        },
    }
    if not compared:
        body["status"] = {}
    return Manifest(body, role=Role.APPLICATION)


def project(name: str = "default") -> Manifest:
    body: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]},
    }
    return Manifest(body, role=Role.PROJECT)


def of(*applications: Manifest, **more: tuple[Manifest, ...]) -> Snapshot:
    return Snapshot(
        collected_at=NOW,
        argocd_version="v3.6.0",
        applications=applications,
        projects=more.get("projects", (project(),)),
        settings=more.get("settings", ()),
        live=more.get("live", ()),
        events=more.get("events", ()),
    )


def obj(kind: str, name: str, *, version: str = "v1", namespace: str = "shop", **body: Object) -> Object:
    meta: Object = {"name": name, "namespace": namespace, "uid": f"uid-{kind}-{name}", "resourceVersion": "7"}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {**meta, **body.pop("metadata", {})},
        **body,
    }


def live(*bodies: Object) -> tuple[Manifest, ...]:
    return tuple(Manifest(body, role=Role.LIVE) for body in bodies)


def desired(*bodies: Object) -> tuple[Manifest, ...]:
    return tuple(Manifest(body, role=Role.DESIRED) for body in bodies)


def log(pod: str, container: str, *lines: str, namespace: str = "shop", previous: bool = False) -> Log:
    return Log(namespace=namespace, pod=pod, container=container, lines=lines, previous=previous)


def shop(**changes: object) -> Snapshot:
    """A Deployment with a Pod that fails, a hook, a Secret, and a healthy app beside it."""
    rows: list[Json] = [
        {
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "namespace": "shop",
            "name": "web",
            "status": "Synced",
        },
        {"version": "v1", "kind": "Secret", "namespace": "shop", "name": "db", "status": "OutOfSync"},
    ]
    app = application("shop", sync="OutOfSync", health="Degraded", status={"resources": rows})
    web = obj("Deployment", "web", version="apps/v1", spec={"replicas": 1})
    owner: Object = {
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-Deployment-web"}
        ]
    }
    pod = obj(
        "Pod",
        "web-1",
        metadata=owner,
        status={
            "phase": "Running",
            "containerStatuses": [
                {
                    "name": "web",
                    "restartCount": 4,
                    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                    "lastState": {"terminated": {"exitCode": 1}},
                }
            ],
        },
    )
    hook = obj(
        "Job", "migrate", version="batch/v1", metadata={"annotations": {"argocd.argoproj.io/hook": "PreSync"}}
    )
    result = of(
        app,
        application("quiet"),
        live=live(web, pod, obj("Secret", "db", data={"password": "bGl2ZQ=="})),
    )
    plain: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db"},
        "data": {"password": "Z2l0", "user": "YQ=="},
    }
    return replace(
        result,
        desired={"argocd/shop": desired(web, plain, hook)},
        logs=(log("web-1", "web", "panic: no database", previous=True),),
        **changes,
    )
