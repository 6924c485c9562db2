"""Defaults of what runs Pods: Deployments, StatefulSets, DaemonSets, Jobs and their like, autoscalers."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, copy, dig, fields
from whysync.kubernetes.schema.defaults.registry import fill, fills, own

_LARGEST: Final = 2**31 - 1

_CPU_METRIC: Final[Json] = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
]
_SCALE_UP: Final[Object] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN: Final[Object] = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}


def _inherit_labels(obj: Object, *, selector: bool) -> None:
    """Old versions took an absent selector, and absent labels, from the template."""
    labels = dig(obj, "spec", "template", "metadata", "labels")
    if not isinstance(labels, dict):
        return
    if selector and fields(obj.get("spec")).get("selector") is None:
        own(obj, "spec")["selector"] = {"matchLabels": copy(labels)}
    if not fields(obj.get("metadata")).get("labels"):
        own(obj, "metadata")["labels"] = copy(labels)


def _roll(strategy: Object, **values: Json) -> None:
    fill(own(strategy, "rollingUpdate"), **values)


@fills("apps/v1.Deployment", "apps/v1beta2.Deployment")
def deployment(obj: Object, *, history: int = 10) -> None:
    spec = own(obj, "spec")
    fill(spec, replicas=1, revisionHistoryLimit=history, progressDeadlineSeconds=600)
    strategy = own(spec, "strategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _roll(strategy, maxUnavailable="25%", maxSurge="25%")


@fills("apps/v1beta1.Deployment")
def first_deployment(obj: Object) -> None:
    _inherit_labels(obj, selector=True)
    deployment(obj, history=2)


@fills("extensions/v1beta1.Deployment")
def old_deployment(obj: Object) -> None:
    _inherit_labels(obj, selector=True)
    spec = own(obj, "spec")
    fill(spec, replicas=1, revisionHistoryLimit=_LARGEST, progressDeadlineSeconds=_LARGEST)
    strategy = own(spec, "strategy")
    fill(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate" or strategy.get("rollingUpdate") is not None:
        _roll(strategy, maxUnavailable=1, maxSurge=1)


@fills("apps/v1.DaemonSet", "apps/v1beta2.DaemonSet")
def daemon_set(obj: Object, *, strategy_type: str = "RollingUpdate") -> None:
    spec = own(obj, "spec")
    fill(spec, revisionHistoryLimit=10)
    strategy = own(spec, "updateStrategy")
    fill(strategy, type=strategy_type)
    if strategy["type"] == "RollingUpdate":
        _roll(strategy, maxUnavailable=1, maxSurge=0)


@fills("extensions/v1beta1.DaemonSet")
def old_daemon_set(obj: Object) -> None:
    _inherit_labels(obj, selector=True)
    daemon_set(obj, strategy_type="OnDelete")


@fills("apps/v1.StatefulSet", "apps/v1beta2.StatefulSet")
def stateful_set(obj: Object, *, strategy_type: str = "RollingUpdate") -> None:
    spec = own(obj, "spec")
    fill(spec, podManagementPolicy="OrderedReady", replicas=1, revisionHistoryLimit=10)
    strategy = own(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = strategy_type
        if strategy_type == "RollingUpdate" and strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {}
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        _roll(strategy, partition=0)
    fill(own(spec, "persistentVolumeClaimRetentionPolicy"), whenDeleted="Retain", whenScaled="Retain")


@fills("apps/v1beta1.StatefulSet")
def first_stateful_set(obj: Object) -> None:
    _inherit_labels(obj, selector=True)
    stateful_set(obj, strategy_type="OnDelete")


@fills("apps/v1.ReplicaSet", "apps/v1beta2.ReplicaSet")
def replica_set(obj: Object) -> None:
    fill(own(obj, "spec"), replicas=1)


@fills("extensions/v1beta1.ReplicaSet")
def old_replica_set(obj: Object) -> None:
    _inherit_labels(obj, selector=True)
    replica_set(obj)


@fills("core/v1.ReplicationController")
def replication_controller(obj: Object) -> None:
    labels = dig(obj, "spec", "template", "metadata", "labels")
    if isinstance(labels, dict) and not fields(obj.get("spec")).get("selector"):
        own(obj, "spec")["selector"] = copy(labels)
    _inherit_labels(obj, selector=False)


@fills("batch/v1.Job")
def job(obj: Object) -> None:
    _inherit_labels(obj, selector=False)
    spec = own(obj, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    fill(
        spec,
        parallelism=1,
        backoffLimit=6 if spec.get("backoffLimitPerIndex") is None else _LARGEST,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed",
        manualSelector=False,
    )


@fills("batch/v1.CronJob", "batch/v1beta1.CronJob")
def cron_job(obj: Object) -> None:
    fill(
        own(obj, "spec"),
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )


@fills("batch/v1.PodFailurePolicyOnPodConditionsPattern")
def pod_condition(obj: Object) -> None:
    fill(obj, status="True")


@fills("autoscaling/v1.HorizontalPodAutoscaler")
def first_autoscaler(obj: Object) -> None:
    fill(own(obj, "spec"), minReplicas=1)


@fills("autoscaling/v2.HorizontalPodAutoscaler")
def autoscaler(obj: Object) -> None:
    spec = own(obj, "spec")
    fill(spec, minReplicas=1)
    if not spec.get("metrics"):
        spec["metrics"] = copy(_CPU_METRIC)
    if isinstance(spec.get("behavior"), dict):
        behavior = own(spec, "behavior")
        for direction, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            specified = {
                key: value for key, value in fields(behavior.get(direction)).items() if value is not None
            }
            behavior[direction] = {**fields(copy(rules)), **specified}
