"""StatefulSet. It is never Degraded: pods that do not start leave it Progressing for good."""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import count, is_unobserved, spec_of, status_of, wanted_replicas
from whysync.argocd.health.builtin.typed import METADATA, GoCheck
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object, dig, fields, integer, text


def _judge(stateful_set: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAppsv1StatefulSetHealth`, Argo CD 3.6."""
    status, wanted = status_of(stateful_set), wanted_replicas(stateful_set)
    ready, updated = count(status, "readyReplicas"), count(status, "updatedReplicas")
    # Unlike the other workloads, this one must have been observed at least once.
    if count(status, "observedGeneration") == 0 or is_unobserved(stateful_set):
        return HealthVerdict(HealthCode.PROGRESSING, "Waiting for statefulset spec update to be observed...")
    if wanted is not None and ready < wanted:
        return HealthVerdict(HealthCode.PROGRESSING, f"Waiting for {wanted - ready} pods to be ready...")
    strategy = fields(spec_of(stateful_set).get("updateStrategy"))
    if strategy.get("type") == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        return _partitioned(wanted, updated, strategy)
    if strategy.get("type") == "OnDelete":
        return HealthVerdict(HealthCode.HEALTHY, f"statefulset has {ready} ready pods")
    current, update = text(status.get("currentRevision")), text(status.get("updateRevision"))
    if update != current:
        progress = f"{updated} pods at revision {update}..."
        return HealthVerdict(
            HealthCode.PROGRESSING, f"waiting for statefulset rolling update to complete {progress}"
        )
    progress = f"{count(status, 'currentReplicas')} pods at revision {current}..."
    return HealthVerdict(HealthCode.HEALTHY, f"statefulset rolling update complete {progress}")


def _partitioned(wanted: int | None, updated: int, strategy: Object) -> HealthVerdict:
    """The API server fills in `rollingUpdate`, so this is the usual way, partitions or not."""
    partition = dig(strategy, "rollingUpdate", "partition")
    if wanted is not None and isinstance(partition, int | float):
        new = wanted - integer(partition)
        if updated < new:
            progress = f"{updated} out of {new} new pods have been updated..."
            return HealthVerdict(
                HealthCode.PROGRESSING, f"Waiting for partitioned roll out to finish: {progress}"
            )
    return HealthVerdict(
        HealthCode.HEALTHY, f"partitioned roll out complete: {updated} new pods have been updated..."
    )


STATEFUL_SET = GoCheck(
    name="StatefulSet",
    versions=("v1",),
    judge=_judge,
    shape={
        "metadata": METADATA,
        "spec": {
            "replicas": "int32",
            "updateStrategy": {
                "type": "v1.StatefulSetUpdateStrategyType",
                "rollingUpdate": {"partition": "int32"},
            },
        },
        "status": {
            "observedGeneration": "int64",
            "replicas": "int32",
            "readyReplicas": "int32",
            "currentReplicas": "int32",
            "updatedReplicas": "int32",
            "currentRevision": "string",
            "updateRevision": "string",
        },
    },
)
