"""Deployment. A crash loop is only Progressing until the progress deadline has passed."""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import (
    condition,
    count,
    is_unobserved,
    name_of,
    spec_of,
    status_of,
    wanted_replicas,
)
from whysync.argocd.health.builtin.typed import METADATA, GoCheck, conditions_shape
from whysync.argocd.health.verdict import HealthVerdict
from whysync.golang.fmt import quoted
from whysync.json_tree import Object


def _judge(deployment: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAppsv1DeploymentHealth`, Argo CD 3.6."""
    if spec_of(deployment).get("paused") is True:
        return HealthVerdict(HealthCode.SUSPENDED, "Deployment is paused")
    if is_unobserved(deployment):
        return _waiting("observed deployment generation less than desired generation")
    progress = condition(deployment, "Progressing")
    if progress is not None and progress.get("reason") == "ProgressDeadlineExceeded":
        name = quoted(name_of(deployment))
        return HealthVerdict(HealthCode.DEGRADED, f"Deployment {name} exceeded its progress deadline")
    status, wanted = status_of(deployment), wanted_replicas(deployment)
    updated, total = count(status, "updatedReplicas"), count(status, "replicas")
    available = count(status, "availableReplicas")
    if wanted is not None and updated < wanted:
        return _waiting(f"{updated} out of {wanted} new replicas have been updated...")
    if total > updated:
        return _waiting(f"{total - updated} old replicas are pending termination...")
    if available < updated:
        return _waiting(f"{available} of {updated} updated replicas are available...")
    return HealthVerdict(HealthCode.HEALTHY)


def _waiting(what: str) -> HealthVerdict:
    return HealthVerdict(HealthCode.PROGRESSING, f"Waiting for rollout to finish: {what}")


DEPLOYMENT = GoCheck(
    name="Deployment",
    versions=("v1",),
    judge=_judge,
    shape={
        "metadata": METADATA,
        "spec": {"replicas": "int32", "paused": "bool"},
        "status": {
            "observedGeneration": "int64",
            "replicas": "int32",
            "updatedReplicas": "int32",
            "readyReplicas": "int32",
            "availableReplicas": "int32",
            "unavailableReplicas": "int32",
            "conditions": conditions_shape("v1.Deployment"),
        },
    },
)
