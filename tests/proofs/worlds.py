"""Whole objects for worlds that run: an app with its Deployments as a cluster has them."""

from __future__ import annotations

from tests.situations import REVISION, application, row
from whysync.json_tree import Json, Object, copy_object, dig, fields

NOW = "2026-03-02T03:11:00Z"
THEN = "2026-03-01T00:00:00Z"


def bundle(at: str = NOW) -> Object:
    return {"apiVersion": "whysync.dev/v1", "kind": "Bundle", "collectedAt": at}


def in_git(obj: Object) -> Object:
    """The same object as declared in Git."""
    new = copy_object(obj)
    meta = fields(new["metadata"])
    declared_meta: Object = {key: meta[key] for key in ("name", "namespace", "labels") if key in meta}
    declared_meta["annotations"] = {**fields(meta.get("annotations")), "whysync.dev/role": "desired"}
    new.pop("status", None)
    return {**new, "metadata": declared_meta}


def deployment(name: str = "shop", *, image: str = "shop:1", replicas: int = 2) -> Object:
    """As somebody writes it."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }


def running(obj: Object, *, managed: list[Json] | None = None) -> Object:
    """A Deployment as the API server filled it in, with all its pods ready; the rest is left to whysync."""
    new = copy_object(obj)
    count = fields(new["spec"])["replicas"]
    meta: Object = {
        **fields(new["metadata"]),
        "uid": f"uid-{dig(new, 'metadata', 'name')}",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": THEN,
    }
    if managed is not None:
        meta["managedFields"] = managed
    spec = fields(new["spec"])
    spec |= {
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
        },
    }
    pod = fields(fields(spec["template"])["spec"])
    pod |= {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }
    for raw in pod["containers"] if isinstance(pod["containers"], list) else ():
        container = fields(raw)
        container |= {
            "imagePullPolicy": "IfNotPresent",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
    conditions: list[Json] = [
        {"type": kind, "status": "True", "reason": reason, "lastUpdateTime": THEN, "lastTransitionTime": THEN}
        for kind, reason in (
            ("Available", "MinimumReplicasAvailable"),
            ("Progressing", "NewReplicaSetAvailable"),
        )
    ]
    status: Object = {
        "observedGeneration": 1,
        "replicas": count,
        "updatedReplicas": count,
        "readyReplicas": count,
        "availableReplicas": count,
        "conditions": conditions,
    }
    return {**new, "metadata": meta, "status": status}


def settings(name: str, *, data: Object | None = None) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop"},
        "data": data or {"a": "b"},
    }


def there(obj: Object, *, managed: list[Json] | None = None) -> Object:
    """As it is in the cluster, complete."""
    meta: Object = {
        **fields(obj["metadata"]),
        "uid": f"uid-{obj['kind']}-{dig(obj, 'metadata', 'name')}",
        "resourceVersion": "5",
        "creationTimestamp": THEN,
    }
    if managed is not None:
        meta["managedFields"] = managed
    return {**obj, "metadata": meta}


def wrote(manager: str, owned: Object, *, at: str = "2026-03-02T03:00:00Z", subresource: str = "") -> Object:
    entry: Object = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "apps/v1",
        "time": at,
        "fieldsType": "FieldsV1",
        "fieldsV1": owned,
    }
    return {**entry, "subresource": subresource} if subresource else entry


def synced(*rows: Object, sync: str = "Synced", spec: Object | None = None, **more: Json) -> Object:
    """An Application whose last sync succeeded."""
    resources: list[Json] = [*rows]
    status: Object = {
        "resources": resources,
        "history": [{"id": 1, "revision": REVISION, "deployedAt": "2026-03-02T01:00:00Z"}],
        "operationState": {
            "phase": "Succeeded",
            "message": "successfully synced (all tasks run)",
            "startedAt": "2026-03-02T01:00:00Z",
            "finishedAt": "2026-03-02T01:00:00Z",
            "operation": {"sync": {"revision": REVISION}},
            "syncResult": {"revision": REVISION},
        },
        **more,
    }
    return application(sync=sync, spec=spec, status=status)


def large_app(resources: int, drifted: int) -> tuple[Object, ...]:
    """One app: a tenth of it Deployments, some of them scaled by hand; the rest ConfigMaps."""
    objects: list[Object] = []
    rows: list[Object] = []
    hand: list[Json] = [
        wrote("argocd-controller", {"f:spec": {"f:template": {}}}, at="2026-03-02T01:00:00Z"),
        wrote("kubectl", {"f:spec": {"f:replicas": {}}}, subresource="scale"),
    ]
    for number in range(resources):
        if number % 10 == 0:
            name, off = f"shop-{number}", number // 10 < drifted
            declared = deployment(name, replicas=2)
            live = running(deployment(name, replicas=5 if off else 2), managed=hand)
            rows.append(
                row("Deployment", name, "OutOfSync" if off else "Synced", health={"status": "Healthy"})
            )
            objects += [in_git(declared), live]
        else:
            config = settings(f"settings-{number}")
            rows.append(row("ConfigMap", f"settings-{number}"))
            objects += [in_git(config), there(config)]
    return (bundle(), synced(*rows, sync="OutOfSync" if drifted else "Synced"), *objects)
