"""ReplicaSet."""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import condition, count, is_unobserved, status_of, wanted_replicas
from whysync.argocd.health.builtin.typed import METADATA, GoCheck, conditions_shape
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object, text


def _judge(replica_set: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAppsv1ReplicaSetHealth`, Argo CD 3.6."""
    waiting = "Waiting for rollout to finish:"
    if is_unobserved(replica_set):
        return HealthVerdict(
            HealthCode.PROGRESSING,
            f"{waiting} observed replica set generation less than desired generation",
        )
    failure = condition(replica_set, "ReplicaFailure")
    if failure is not None and failure.get("status") == "True":
        return HealthVerdict(HealthCode.DEGRADED, text(failure.get("message")))
    available, wanted = count(status_of(replica_set), "availableReplicas"), wanted_replicas(replica_set)
    if wanted is not None and available < wanted:
        progress = f"{available} out of {wanted} new replicas are available..."
        return HealthVerdict(HealthCode.PROGRESSING, f"{waiting} {progress}")
    return HealthVerdict(HealthCode.HEALTHY)


REPLICA_SET = GoCheck(
    name="ReplicaSet",
    versions=("v1",),
    judge=_judge,
    shape={
        "metadata": METADATA,
        "spec": {"replicas": "int32"},
        "status": {
            "availableReplicas": "int32",
            "observedGeneration": "int64",
            "conditions": conditions_shape("v1.ReplicaSet"),
        },
    },
)
