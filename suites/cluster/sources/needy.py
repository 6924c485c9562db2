"""An Application in trouble that needs everything whysync ever reads to be understood."""

from __future__ import annotations

from suites.cluster.sources.fleet import SYNCED_AT
from whysync.json_tree import Json, Object

NEEDY = "needy"


def needy_world() -> list[Object]:
    labels: Object = {"app": NEEDY}
    template: Json = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "needy:1"}]},
    }
    workload: Object = {"selector": {"matchLabels": labels}, "template": template}
    ended: Json = {"exitCode": 1, "reason": "Error", "finishedAt": SYNCED_AT}
    crashing: Json = {
        "name": "main",
        "image": "needy:1",
        "imageID": "",
        "ready": False,
        "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }
    pod: Object = {"containers": [{"name": "main", "image": "needy:1"}]}
    target: Json = {"apiVersion": "apps/v1", "kind": "Deployment", "name": NEEDY}
    hook: Json = {
        "name": "needy.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    admission = "admissionregistration.k8s.io/v1"
    return [
        _object("v1", "Namespace", NEEDY, namespace=""),
        _object("apps/v1", "Deployment", NEEDY, spec=workload),
        _object("apps/v1", "ReplicaSet", NEEDY, spec=workload),
        _object(
            "apps/v1",
            "StatefulSet",
            NEEDY,
            spec={**workload, "serviceName": NEEDY},
            status={"replicas": 1, "currentRevision": "needy-1", "updateRevision": "needy-2"},
        ),
        {**_object("apps/v1", "ControllerRevision", "needy-1"), "revision": 1, "data": {"spec": {}}},
        _object("apps/v1", "DaemonSet", NEEDY, spec=workload),
        _object("batch/v1", "Job", NEEDY, spec={"template": {"spec": {**pod, "restartPolicy": "Never"}}}),
        _object("v1", "Pod", "crashing", spec={**pod, "nodeName": "node-1"}, status=_status(crashing)),
        _object("v1", "Pod", "pending", spec=pod, status={"phase": "Pending"}),
        _object("v1", "Service", NEEDY, spec={"selector": labels, "ports": [{"port": 80}]}),
        _object("v1", "ConfigMap", NEEDY),
        _object("v1", "Secret", NEEDY),
        _object("v1", "ServiceAccount", NEEDY),
        _object(
            "v1",
            "PersistentVolumeClaim",
            NEEDY,
            spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            status={"phase": "Pending"},
        ),
        _object("v1", "ResourceQuota", NEEDY, spec={"hard": {"pods": "50"}}),
        _object("v1", "LimitRange", NEEDY, spec={"limits": [{"type": "Container"}]}),
        _object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            NEEDY,
            spec={"scaleTargetRef": target, "maxReplicas": 3},
        ),
        _object("policy/v1", "PodDisruptionBudget", NEEDY, spec={"maxUnavailable": 1}),
        {**_object("discovery.k8s.io/v1", "EndpointSlice", NEEDY), "addressType": "IPv4", "endpoints": []},
        _object("networking.k8s.io/v1", "Ingress", NEEDY, spec={"rules": [{"host": "needy.example.com"}]}),
        _object(
            "networking.k8s.io/v1",
            "IngressClass",
            NEEDY,
            namespace="",
            spec={"controller": "example.com/none"},
        ),
        _object("widgets.example.com/v1", "Widget", NEEDY, spec={"size": 1}),
        _object("v1", "Node", "node-1", namespace=""),
        _object(
            "v1",
            "PersistentVolume",
            NEEDY,
            namespace="",
            spec={
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/srv/needy"},
            },
        ),
        {
            **_object("storage.k8s.io/v1", "StorageClass", NEEDY, namespace=""),
            "provisioner": "example.com/none",
        },
        {**_object(admission, "MutatingWebhookConfiguration", NEEDY, namespace=""), "webhooks": [hook]},
        {**_object(admission, "ValidatingWebhookConfiguration", NEEDY, namespace=""), "webhooks": [hook]},
        {
            **_object("v1", "Event", "needy.17"),
            "involvedObject": {"kind": "Pod", "namespace": NEEDY, "name": "pending"},
            "type": "Warning",
            "reason": "FailedScheduling",
            "message": "0/1 nodes are available",
            "lastTimestamp": SYNCED_AT,
        },
        {
            **_object("argoproj.io/v1alpha1", "ApplicationSet", "maker", namespace="argocd"),
            "spec": {"generators": []},
        },
        _project(),
        _application(),
    ]


def _application() -> Object:
    kinds = (
        ("apps", "v1", "Deployment"),
        ("networking.k8s.io", "v1", "Ingress"),
        ("widgets.example.com", "v1", "Widget"),
    )
    rows: list[Json] = [
        {
            "group": group,
            "version": version,
            "kind": kind,
            "namespace": NEEDY,
            "name": NEEDY,
            "status": "Synced",
            "health": {"status": "Degraded"},
        }
        for group, version, kind in kinds
    ]
    meta: Object = {
        "name": NEEDY,
        "namespace": "argocd",
        "ownerReferences": [
            {"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "maker", "uid": "maker"}
        ],
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": meta,
        "spec": {
            "project": NEEDY,
            "source": {"repoURL": "https://git.example.com/needy.git", "path": "."},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": NEEDY},
        },
        "status": {
            "sync": {"status": "Synced", "revision": "d" * 40},
            "health": {"status": "Degraded"},
            "resources": rows,
            "reconciledAt": SYNCED_AT,
            "controllerNamespace": "argocd",
        },
    }


def _project() -> Object:
    body = _object("argoproj.io/v1alpha1", "AppProject", NEEDY, namespace="argocd")
    return {**body, "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]}}


def _status(container: Json) -> Object:
    return {"phase": "Running", "containerStatuses": [container]}


def _object(
    api_version: str,
    kind: str,
    name: str,
    *,
    namespace: str = NEEDY,
    spec: Object | None = None,
    status: Object | None = None,
) -> Object:
    meta: Object = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    body: Object = {"apiVersion": api_version, "kind": kind, "metadata": meta}
    if spec is not None:
        body["spec"] = spec
    if status is not None:
        body["status"] = status
    return body
