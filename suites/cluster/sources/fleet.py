"""Applications with all that belongs to them, as a cluster with its controllers would have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from whysync.json_tree import Json, Object, fields

SYNCED_AT = (datetime.now(UTC) - timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
REVISION = "8f3c2a1b9d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a"
APPS_OF_A_NAMESPACE = 10
SECRET = "c2VjcmV0LXZhbHVlLTE="

_RBAC = "rbac.authorization.k8s.io"
_MANAGED = (
    ("", "v1", "Service", ""),
    ("", "v1", "ServiceAccount", ""),
    ("", "v1", "Secret", ""),
    ("", "v1", "PersistentVolumeClaim", ""),
    *(("", "v1", "ConfigMap", f"-{index}") for index in range(3)),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "-db"),
    ("policy", "v1", "PodDisruptionBudget", ""),
    ("networking.k8s.io", "v1", "NetworkPolicy", ""),
    ("networking.k8s.io", "v1", "Ingress", ""),
    (_RBAC, "v1", "Role", ""),
    (_RBAC, "v1", "RoleBinding", ""),
)


def namespaces(apps: int) -> list[Object]:
    count = -(-apps // APPS_OF_A_NAMESPACE)
    return [_object("v1", "Namespace", namespace_of(n * APPS_OF_A_NAMESPACE)) for n in range(count)]


def namespace_of(number: int) -> str:
    return f"team-{number // APPS_OF_A_NAMESPACE:03d}"


def settings() -> list[Object]:
    """What Argo CD itself needs to have."""
    labels: Object = {"app.kubernetes.io/part-of": "argocd"}
    result: dict[str, Object] = {
        "argocd-cm": {"timeout.reconciliation": "180s"},
        "argocd-rbac-cm": {"policy.default": "role:readonly"},
        "argocd-cmd-params-cm": {"application.namespaces": "apps"},
    }
    maps: list[Object] = [
        {**_object("v1", "ConfigMap", name, "argocd", labels=labels), "data": data}
        for name, data in result.items()
    ]
    project: Object = {
        **_object("argoproj.io/v1alpha1", "AppProject", "default", "argocd"),
        "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]},
    }
    return [*maps, project]


def application(number: int) -> Object:
    """Every fifth is well; of the others every second is scaled by hand, the rest pull a missing image."""
    name, namespace = f"shop-{number:04d}", namespace_of(number)
    drifts, fails = number % 5 in (1, 2), number % 5 in (3, 4)
    rows: list[Json] = [
        {
            "group": group,
            "version": version,
            "kind": kind,
            "namespace": namespace,
            "name": f"{name}{end}",
            "status": "Synced",
        }
        for group, version, kind, end in _MANAGED
    ]
    health = "Degraded" if fails else "Healthy"
    rows.append(
        {
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "namespace": namespace,
            "name": name,
            "status": "OutOfSync" if drifts else "Synced",
            "health": {"status": health, "message": "exceeded its progress deadline" if fails else ""},
        }
    )
    source: Object = {"repoURL": "https://git.example.com/shop.git", "path": name, "targetRevision": "main"}
    destination: Object = {"server": "https://kubernetes.default.svc", "namespace": namespace}
    return {
        **_object("argoproj.io/v1alpha1", "Application", name, "argocd"),
        "spec": {"project": "default", "source": source, "destination": destination},
        "status": {
            "sync": {
                "status": "OutOfSync" if drifts else "Synced",
                "revision": REVISION,
                "comparedTo": {"source": source, "destination": destination},
            },
            "health": {"status": health, "lastTransitionTime": SYNCED_AT},
            "reconciledAt": SYNCED_AT,
            "controllerNamespace": "argocd",
            "resources": rows,
            "history": [{"id": 1, "revision": REVISION, "deployedAt": SYNCED_AT}],
            "operationState": {
                "operation": {"sync": {"revision": REVISION}},
                "phase": "Succeeded",
                "message": "successfully synced (all tasks run)",
                "startedAt": SYNCED_AT,
                "finishedAt": SYNCED_AT,
                "syncResult": {"revision": REVISION, "source": source},
            },
        },
    }


def deployment(number: int) -> Object:
    """As Git has it: two replicas."""
    name, namespace = f"shop-{number:04d}", namespace_of(number)
    meta: Object = {
        "name": name,
        "namespace": namespace,
        "annotations": {"argocd.argoproj.io/tracking-id": f"{name}:apps/Deployment:{namespace}/{name}"},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": _pod_spec(name)},
        },
    }


def with_last_applied(body: Object) -> Object:
    """As a client-side apply of Argo CD leaves it."""
    meta = {**fields(body.get("metadata"))}
    annotations = {**fields(meta.get("annotations"))}
    annotations["kubectl.kubernetes.io/last-applied-configuration"] = json.dumps(body) + "\n"
    return {**body, "metadata": {**meta, "annotations": annotations}}


def around(number: int) -> Iterator[Object]:
    """All but the Deployment: nineteen objects."""
    name, namespace = f"shop-{number:04d}", namespace_of(number)
    fails = number % 5 in (3, 4)
    labels: Object = {"app": name}
    owner: Json = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"{name}-6c9d8f",
        "uid": f"rs-{number}",
    }
    replica_set = _object("apps/v1", "ReplicaSet", f"{name}-6c9d8f", namespace, labels=labels)
    replica_set["spec"] = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": _pod_spec(name)},
    }
    yield _owned(
        replica_set, {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"d-{number}"}
    )
    for index in range(2):
        pod = _object("v1", "Pod", f"{name}-6c9d8f-{index}", namespace, labels=labels)
        pod["spec"] = {**_pod_spec(name), "nodeName": "node-1"}
        pod["status"] = _pod_status(name, fails=fails)
        yield _owned(pod, owner)
        event = _object("v1", "Event", f"{name}-6c9d8f-{index}.17", namespace)
        yield {
            **event,
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": namespace,
                "name": f"{name}-6c9d8f-{index}",
            },
            "type": "Warning" if fails else "Normal",
            "reason": "Failed" if fails else "Pulled",
            "message": "Failed to pull image: not found" if fails else "Successfully pulled image",
            "firstTimestamp": SYNCED_AT,
            "lastTimestamp": SYNCED_AT,
            "count": 3,
        }
    service = _object("v1", "Service", name, namespace)
    yield {**service, "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]}}
    slices = _object("discovery.k8s.io/v1", "EndpointSlice", f"{name}-x7k2p", namespace)
    endpoint: Json = {"addresses": ["10.1.0.7"], "conditions": {"ready": not fails}}
    yield {**slices, "addressType": "IPv4", "endpoints": [endpoint], "ports": [{"port": 8080}]}
    for index in range(3):
        settings: Object = {f"key-{n}": f"value {n} of {name}" for n in range(8)}
        yield {**_object("v1", "ConfigMap", f"{name}-{index}", namespace), "data": settings}
    yield {**_object("v1", "Secret", name, namespace), "data": {"password": SECRET}}
    yield _object("v1", "ServiceAccount", name, namespace)
    scaled: Json = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": f"{name}-db"}
    autoscaler = _object("autoscaling/v2", "HorizontalPodAutoscaler", f"{name}-db", namespace)
    yield {**autoscaler, "spec": {"scaleTargetRef": scaled, "minReplicas": 1, "maxReplicas": 3}}
    budget = _object("policy/v1", "PodDisruptionBudget", name, namespace)
    yield {**budget, "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}}
    role = _object("rbac.authorization.k8s.io/v1", "Role", name, namespace)
    yield {**role, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]}
    binding = _object("rbac.authorization.k8s.io/v1", "RoleBinding", name, namespace)
    reference: Json = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    yield {**binding, "roleRef": reference, "subjects": [{"kind": "ServiceAccount", "name": name}]}
    policy = _object("networking.k8s.io/v1", "NetworkPolicy", name, namespace)
    yield {**policy, "spec": {"podSelector": {"matchLabels": labels}, "ingress": [{}]}}
    backend: Json = {"service": {"name": name, "port": {"number": 80}}}
    path: Json = {"path": "/", "pathType": "Prefix", "backend": backend}
    ingress = _object("networking.k8s.io/v1", "Ingress", name, namespace)
    yield {**ingress, "spec": {"rules": [{"host": f"{name}.example.com", "http": {"paths": [path]}}]}}
    claim = _object("v1", "PersistentVolumeClaim", name, namespace)
    yield {
        **claim,
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound"},
    }


def _pod_spec(name: str) -> Object:
    container: Json = {
        "name": "shop",
        "image": f"registry.example.com/{name}:1.4.2",
        "ports": [{"containerPort": 8080}],
        "env": [
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": name, "key": "password"}}},
        ],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
    }
    return {"serviceAccountName": name, "containers": [container]}


def _pod_status(name: str, *, fails: bool) -> Object:
    state: Json = (
        {"waiting": {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{name}:1.4.2"'}}
        if fails
        else {"running": {"startedAt": SYNCED_AT}}
    )
    status: Json = {
        "name": "shop",
        "image": f"registry.example.com/{name}:1.4.2",
        "imageID": "",
        "ready": not fails,
        "restartCount": 0,
        "state": state,
    }
    ready: Json = {"type": "Ready", "status": "False" if fails else "True"}
    return {"phase": "Pending" if fails else "Running", "conditions": [ready], "containerStatuses": [status]}


def _owned(body: Object, owner: Json) -> Object:
    meta = body["metadata"]
    assert isinstance(meta, dict)
    if isinstance(owner, dict):
        meta["ownerReferences"] = [{**owner, "controller": True}]
    return body


def _object(
    api_version: str, kind: str, name: str, namespace: str = "", *, labels: Object | None = None
) -> Object:
    meta: Object = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    if labels:
        meta["labels"] = dict(labels)
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def objects(apps: int) -> Iterator[Object]:
    for number in range(apps):
        yield application(number)
        yield from around(number)


def scaled_by_hand(apps: int) -> Iterator[int]:
    return (number for number in range(apps) if number % 5 in (1, 2))
