"""Healthy apps stay quiet: through the whole diagnosis, with all rules, nothing above a note.

What Kubernetes, controllers and clouds write on objects is no trouble. Neither is a sync that has just ended,
a rollout that somebody paused, or a CronJob that is switched off.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.situations import application, case_of, config_map, row
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.json_tree import Json, Object, copy, fields

REVISION = "a3f1c29d0b7e4a8c9f6d5e4c3b2a190817263544"
Situation = Callable[[], tuple[Object, ...]]
SITUATIONS: dict[str, Situation] = {}


def situation(build: Situation) -> Situation:
    SITUATIONS[build.__name__] = build
    return build


def _bundle(at: str = "2026-03-02T03:11:00Z") -> Object:
    return {"apiVersion": "whysync.dev/v1", "kind": "Bundle", "collectedAt": at}


def _synced(finished: str = "2026-03-02T01:00:00Z", **more: Json) -> Object:
    return {
        "history": [{"id": 1, "revision": REVISION, "deployedAt": finished}],
        "operationState": {
            "phase": "Succeeded",
            "message": "successfully synced (all tasks run)",
            "startedAt": finished,
            "finishedAt": finished,
            "operation": {"sync": {"revision": REVISION}},
            "syncResult": {"revision": REVISION},
        },
        **more,
    }


def _healthy(*rows: Object, spec: Object | None = None) -> Object:
    return application(spec=spec, status=_synced(resources=[*rows]))


def _object(
    api: str, kind: str, body: Object, *, desired: bool = False, meta: Object | None = None
) -> Object:
    metadata: Object = {"name": "shop", "namespace": "shop", **fields(copy(meta or {}))}
    if desired:
        metadata["annotations"] = {**fields(metadata.get("annotations")), "whysync.dev/role": "desired"}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields(copy(body))}


def _managed(manager: str, owned: Object, subresource: str = "") -> Object:
    entry: Object = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-03-02T01:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": owned,
    }
    return {**entry, "subresource": subresource} if subresource else entry


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
WELL: Object = {"status": "Healthy"}
DEPLOYMENT: Object = {
    "spec": {
        "selector": {"matchLabels": {"app": "shop"}},
        "template": {
            "metadata": {"labels": {"app": "shop"}},
            "spec": {"containers": [{"name": "shop", "image": "shop:1"}]},
        },
    }
}


def _live_deployment(replicas: int = 1, **meta: Json) -> Object:
    """As the API server fills it in and the controller reports on it."""
    return _object(
        "apps/v1",
        "Deployment",
        {
            "spec": {
                "replicas": replicas,
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
                },
                "selector": {"matchLabels": {"app": "shop"}},
                "template": {
                    "metadata": {"labels": {"app": "shop"}},
                    "spec": {
                        "restartPolicy": "Always",
                        "dnsPolicy": "ClusterFirst",
                        "schedulerName": "default-scheduler",
                        "securityContext": {},
                        "terminationGracePeriodSeconds": 30,
                        "containers": [
                            {
                                "name": "shop",
                                "image": "shop:1",
                                "imagePullPolicy": "IfNotPresent",
                                "resources": {},
                                "terminationMessagePath": "/dev/termination-log",
                                "terminationMessagePolicy": "File",
                            }
                        ],
                    },
                },
            },
            "status": {
                "observedGeneration": 3,
                "replicas": replicas,
                "readyReplicas": replicas,
                "updatedReplicas": replicas,
                "availableReplicas": replicas,
                "conditions": [
                    {"type": "Available", "status": "True"},
                    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
                ],
            },
        },
        meta={
            "generation": 3,
            "uid": "1",
            "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            **meta,
        },
    )


def _argocd_and_controller() -> list[Json]:
    return [
        _managed("argocd-controller", {"f:spec": {"f:template": {}}}),
        _managed("kube-controller-manager", {"f:status": {"f:replicas": {}}}, "status"),
    ]


def _scaled_by(manager: str) -> list[Json]:
    return [*_argocd_and_controller(), _managed(manager, {"f:spec": {"f:replicas": {}}}, "scale")]


@situation
def nothing_but_the_application() -> tuple[Object, ...]:
    return (_healthy(row("Deployment", "shop", health=WELL)),)


@situation
def defaults_filled_in_and_status_written() -> tuple[Object, ...]:
    app = _healthy(row("Deployment", "shop", health=WELL))
    live = _live_deployment(managedFields=_argocd_and_controller())
    return (_bundle(), app, _object("apps/v1", "Deployment", DEPLOYMENT, desired=True), live)


@situation
def defaults_without_a_record_of_managers() -> tuple[Object, ...]:
    app = _healthy(row("Deployment", "shop", health=WELL))
    return (_bundle(), app, _object("apps/v1", "Deployment", DEPLOYMENT, desired=True), _live_deployment())


@situation
def replicas_left_to_an_autoscaler() -> tuple[Object, ...]:
    scaled = _scaled_by("kube-controller-manager")
    hpa = _object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"}},
            "status": {"currentReplicas": 7, "conditions": [{"type": "ScalingActive", "status": "True"}]},
        },
    )
    return (
        _bundle(),
        _healthy(row("Deployment", "shop", health=WELL)),
        _object("apps/v1", "Deployment", DEPLOYMENT, desired=True),
        _live_deployment(7, managedFields=scaled),
        hpa,
    )


@situation
def notes_of_cloud_controllers() -> tuple[Object, ...]:
    service: Object = {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}
    ports: list[Json] = [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30080}]
    live: Object = {
        "spec": {"type": "LoadBalancer", "ports": ports, "clusterIP": "10.0.0.1", "sessionAffinity": "None"},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    }
    notes: Object = {
        "annotations": {
            "cloud.google.com/neg-status": "{}",
            "metallb.io/ip-allocated-from-pool": "main",
            "networking.gke.io/last-reconcile-time": "2026-03-02T03:00:00Z",
        },
        "finalizers": ["service.kubernetes.io/load-balancer-cleanup"],
    }
    return (
        _bundle(),
        _healthy(row("Service", "shop", health=WELL)),
        _object("v1", "Service", service, desired=True),
        _object("v1", "Service", live, meta=notes),
    )


@situation
def adopted_from_kubectl_apply() -> tuple[Object, ...]:
    managed: list[Json] = [_managed("kubectl-client-side-apply", {"f:data": {"f:a": {}}})]
    meta: Object = {
        "annotations": {LAST_APPLIED: "{}"},
        "managedFields": managed,
    }
    return (
        _bundle(),
        _healthy(row("ConfigMap", "shop")),
        _object("v1", "ConfigMap", {"data": {"a": "b"}}, desired=True),
        _object("v1", "ConfigMap", {"data": {"a": "b"}}, meta=meta),
    )


@situation
def restarted_with_kubectl() -> tuple[Object, ...]:
    live = _live_deployment(
        managedFields=[
            *_argocd_and_controller(),
            _managed("kubectl-rollout", {"f:spec": {"f:template": {"f:metadata": {"f:annotations": {}}}}}),
        ]
    )
    template = fields(fields(live["spec"])["template"])
    fields(template["metadata"])["annotations"] = {
        "kubectl.kubernetes.io/restartedAt": "2026-03-02T02:00:00Z"
    }
    return (
        _bundle(),
        _healthy(row("Deployment", "shop", health=WELL)),
        _object("apps/v1", "Deployment", DEPLOYMENT, desired=True),
        live,
    )


@situation
def cron_job_switched_off_in_git() -> tuple[Object, ...]:
    body: Object = {"spec": {"schedule": "0 1 * * *", "suspend": True}}
    return (
        _bundle(),
        _healthy({**row("CronJob", "shop", health=WELL), "group": "batch"}),
        _object("batch/v1", "CronJob", body, desired=True),
        _object("batch/v1", "CronJob", body),
    )


@situation
def hooks_that_are_done() -> tuple[Object, ...]:
    done: Object = {
        "group": "batch",
        "version": "v1",
        "kind": "Job",
        "namespace": "shop",
        "name": "migrate",
        "hookType": "PreSync",
        "hookPhase": "Succeeded",
        "syncPhase": "PreSync",
        "message": "Reached expected number of succeeded pods",
    }
    app = _healthy(row("Deployment", "shop", health=WELL))
    operation = fields(fields(app["status"])["operationState"])
    operation["syncResult"] = {"revision": REVISION, "resources": [done]}
    return (_bundle(), app)


@situation
def just_synced_and_coming_up() -> tuple[Object, ...]:
    app = application(
        health="Progressing",
        status=_synced(
            "2026-03-02T03:10:00Z",
            resources=[row("Deployment", "shop", health={"status": "Progressing", "message": "Waiting"})],
        ),
    )
    return (_bundle(), app)


@situation
def sync_under_way() -> tuple[Object, ...]:
    app = application(
        sync="OutOfSync",
        health="Progressing",
        status={
            "operationState": {
                "phase": "Running",
                "message": "waiting for healthy state of apps/Deployment/shop",
                "startedAt": "2026-03-02T03:10:30Z",
                "syncResult": {"revision": REVISION},
            },
            "resources": [
                row("Deployment", "shop", health={"status": "Progressing"}),
                row("ConfigMap", "later", "OutOfSync", health={"status": "Missing"}),
            ],
        },
    )
    return (_bundle(), app)


@situation
def rollout_paused_on_purpose() -> tuple[Object, ...]:
    paused: Object = {
        **row("Rollout", "shop", health={"status": "Suspended", "message": "CanaryPauseStep"}),
        "group": "argoproj.io",
        "version": "v1alpha1",
    }
    return (_bundle(), application(health="Suspended", status=_synced(resources=[paused])))


@situation
def ignore_rules_that_do_their_work() -> tuple[Object, ...]:
    spec: Object = {
        "ignoreDifferences": [{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}],
        "syncPolicy": {"automated": {"selfHeal": True}, "syncOptions": ["RespectIgnoreDifferences=true"]},
    }
    desired = _object("apps/v1", "Deployment", DEPLOYMENT, desired=True)
    fields(desired["spec"])["replicas"] = 2
    scaled = _scaled_by("keda-operator")
    return (
        _bundle(),
        _healthy(row("Deployment", "shop", health=WELL), spec=spec),
        desired,
        _live_deployment(5, managedFields=scaled),
    )


@situation
def pinned_to_a_tag() -> tuple[Object, ...]:
    source: Object = {
        "repoURL": "https://git.example.com/shop.git",
        "path": "deploy",
        "targetRevision": "v1.2.3",
    }
    return (_bundle(), _healthy(row("Deployment", "shop", health=WELL), spec={"source": source}))


@situation
def healed_once_today() -> tuple[Object, ...]:
    app = _healthy(
        row("Deployment", "shop", health=WELL), spec={"syncPolicy": {"automated": {"selfHeal": True}}}
    )
    sync = fields(fields(fields(fields(app["status"])["operationState"])["operation"])["sync"])
    sync["autoHealAttemptsCount"] = 1
    return (_bundle(), app)


@situation
def custom_resource_that_is_ready() -> tuple[Object, ...]:
    body: Object = {"spec": {"size": 1}}
    live: Object = {
        "spec": {"size": 1, "engine": "default"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    settings: Object = {**config_map("argocd-cm"), "metadata": {"name": "argocd-cm", "namespace": "argocd"}}
    return (
        _bundle(),
        _healthy({**row("Database", "shop"), "group": "db.example.com"}),
        _object("db.example.com/v1", "Database", body, desired=True),
        _object("db.example.com/v1", "Database", live),
        settings,
    )


@situation
def warning_about_a_pod_that_is_ready_by_now() -> tuple[Object, ...]:
    pod = _object(
        "v1",
        "Pod",
        {
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [
                    {"name": "shop", "ready": True, "restartCount": 1, "state": {"running": {}}}
                ],
            }
        },
    )
    event: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "probe", "namespace": "shop"},
        "type": "Warning",
        "reason": "Unhealthy",
        "message": "Readiness probe failed: connection refused",
        "lastTimestamp": "2026-03-02T01:00:30Z",
        "involvedObject": {"kind": "Pod", "name": "shop", "namespace": "shop"},
    }
    return (_bundle(), _healthy(row("Deployment", "shop", health=WELL)), pod, event)


@situation
def secret_given_as_text() -> tuple[Object, ...]:
    return (
        _bundle(),
        _healthy(row("Secret", "shop")),
        _object("v1", "Secret", {"stringData": {"password": "a"}}, desired=True),
        _object("v1", "Secret", {"type": "Opaque", "data": {"password": "YQ=="}}),
    )


@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_healthy_apps_stay_quiet(name: str) -> None:
    report = diagnose(case_of(*SITUATIONS[name]()), diagnosis_rules())
    alarms = [f"{f.cause}: {f.verdict}" for f in report.findings if f.severity is not Severity.INFO]
    assert alarms == []
    assert [symptom.text for symptom in report.unexplained] == []
    assert report.crashed == ()
