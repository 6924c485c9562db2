"""A small world for the Kubernetes source: one app that drifts, one that fails, one that is well."""

from __future__ import annotations

import json

from tests.facts.kubernetes_api.fake_api import base64_of
from whysync.json_tree import Json, Object

AT = "2026-03-02T03:20:00Z"
REVISION = "a" * 40
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def thing(api_version: str, kind: str, name: str, namespace: str = "", **more: Json) -> Object:
    meta: Object = {"name": name, "uid": f"{kind}-{namespace}-{name}"}
    if namespace:
        meta["namespace"] = namespace
    for key in ("labels", "annotations", "ownerReferences", "managedFields"):
        if key in more:
            meta[key] = more.pop(key)
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


def application(
    name: str,
    *,
    namespace: str = "shop",
    sync: str = "Synced",
    health: str = "Healthy",
    rows: list[Json] | None = None,
    destination: Object | None = None,
    **status: Json,
) -> Object:
    return thing(
        "argoproj.io/v1alpha1",
        "Application",
        name,
        "argocd",
        spec={
            "project": "default",
            "source": {"repoURL": "https://git.example.com/x.git", "path": "."},
            "destination": destination
            or {"server": "https://kubernetes.default.svc", "namespace": namespace},
        },
        status={
            "sync": {"status": sync, "revision": REVISION},
            "health": {"status": health},
            "resources": rows or [],
            "controllerNamespace": "argocd",
            "reconciledAt": AT,
            "history": [{"revision": REVISION, "deployedAt": AT}],
            "operationState": {
                "phase": "Succeeded",
                "operation": {"sync": {}},
                "startedAt": AT,
                "finishedAt": AT,
                "syncResult": {"revision": REVISION},
            },
            **status,
        },
    )


def row(kind: str, name: str, namespace: str, *, group: str = "", status: str = "Synced") -> Object:
    return {
        "group": group,
        "version": "v1",
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "status": status,
    }


def deployment(name: str, namespace: str, *, replicas: int = 2, live: int | None = None) -> Object:
    template: Json = {"spec": {"containers": [{"name": "main", "image": "shop:1"}]}}
    body = thing("apps/v1", "Deployment", name, namespace, spec={"replicas": replicas, "template": template})
    applied = {key: value for key, value in body.items() if key != "status"}
    owned: Json = {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}, "f:spec": {"f:template": {}}}
    return thing(
        "apps/v1",
        "Deployment",
        name,
        namespace,
        annotations={LAST_APPLIED: json.dumps(applied)},
        managedFields=[
            {"manager": "argocd-controller", "operation": "Update", "fieldsV1": owned},
            {
                "manager": "kubectl-edit",
                "operation": "Update",
                "time": AT,
                "fieldsV1": {"f:spec": {"f:replicas": {}}},
            },
        ],
        spec={"replicas": replicas if live is None else live, "template": template},
    )


def crashing_pod(name: str, namespace: str) -> Object:
    ended: Json = {"exitCode": 1, "reason": "Error", "finishedAt": AT}
    status: Json = {
        "name": "main",
        "ready": False,
        "restartCount": 4,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
        "lastState": {"terminated": ended},
    }
    return thing(
        "v1",
        "Pod",
        name,
        namespace,
        ownerReferences=[{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "api-1", "uid": "rs"}],
        spec={"nodeName": "n1", "containers": [{"name": "main", "image": "api:1"}]},
        status={"phase": "Running", "containerStatuses": [status]},
    )


def world() -> list[Object]:
    drifting = application(
        "web",
        sync="OutOfSync",
        rows=[
            row("Deployment", "web", "shop", group="apps", status="OutOfSync"),
            row("Secret", "web", "shop"),
        ],
    )
    failing = application(
        "api",
        namespace="api",
        health="Degraded",
        rows=[row("Deployment", "api", "api", group="apps")],
    )
    return [
        drifting,
        failing,
        application("fine", namespace="calm", rows=[row("ConfigMap", "fine", "calm")]),
        thing("argoproj.io/v1alpha1", "AppProject", "default", "argocd", spec={"sourceRepos": ["*"]}),
        thing(
            "v1",
            "ConfigMap",
            "argocd-cm",
            "argocd",
            labels={"app.kubernetes.io/part-of": "argocd"},
            data={"timeout.reconciliation": "180s"},
        ),
        thing(
            "v1",
            "Secret",
            "repo",
            "argocd",
            labels={"argocd.argoproj.io/secret-type": "repository"},
            data={
                "url": base64_of("https://git.example.com/x.git"),
                "password": base64_of("repo-password-1"),
            },
        ),
        *(thing("v1", "Namespace", name) for name in ("argocd", "shop", "api", "calm")),
        deployment("web", "shop", live=5),
        thing("v1", "Secret", "web", "shop", data={"token": base64_of("live-secret-value-1")}),
        deployment("api", "api"),
        thing(
            "apps/v1",
            "ReplicaSet",
            "api-1",
            "api",
            ownerReferences=[{"apiVersion": "apps/v1", "kind": "Deployment", "name": "api", "uid": "d"}],
        ),
        *(crashing_pod(f"api-1-{n}", "api") for n in range(3)),
        thing(
            "v1",
            "Event",
            "api-1-0.1",
            "api",
            type="Warning",
            reason="BackOff",
            message="Back-off restarting failed container",
            involvedObject={"kind": "Pod", "namespace": "api", "name": "api-1-0"},
            lastTimestamp=AT,
        ),
        thing("v1", "ConfigMap", "fine", "calm"),
    ]


LOGS = {
    f"api-1-{n}/main{end}": f"starting\nfatal: password={'log-secret-value-1'} refused\n"
    for n in range(3)
    for end in ("", ".previous")
}
