"""DaemonSet. It is never Degraded."""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import count, is_unobserved, name_of, status_of
from whysync.argocd.health.builtin.typed import METADATA, GoCheck
from whysync.argocd.health.verdict import HealthVerdict
from whysync.golang.fmt import quoted
from whysync.json_tree import Object, dig


def _judge(daemon_set: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAppsv1DaemonSetHealth`, Argo CD 3.6."""
    if is_unobserved(daemon_set):
        return HealthVerdict(
            HealthCode.PROGRESSING,
            "Waiting for rollout to finish: observed daemon set generation less than desired generation",
        )
    status = status_of(daemon_set)
    updated, desired = count(status, "updatedNumberScheduled"), count(status, "desiredNumberScheduled")
    available = count(status, "numberAvailable")
    if dig(daemon_set, "spec", "updateStrategy", "type") == "OnDelete":
        return HealthVerdict(
            HealthCode.HEALTHY, f"daemon set {updated} out of {desired} new pods have been updated"
        )
    waiting = f"Waiting for daemon set {quoted(name_of(daemon_set))} rollout to finish:"
    if updated < desired:
        progress = f"{updated} out of {desired} new pods have been updated..."
        return HealthVerdict(HealthCode.PROGRESSING, f"{waiting} {progress}")
    if available < desired:
        progress = f"{available} of {desired} updated pods are available..."
        return HealthVerdict(HealthCode.PROGRESSING, f"{waiting} {progress}")
    return HealthVerdict(HealthCode.HEALTHY)


DAEMON_SET = GoCheck(
    name="DaemonSet",
    versions=("v1",),
    judge=_judge,
    shape={
        "metadata": METADATA,
        "spec": {"updateStrategy": {"type": "v1.DaemonSetUpdateStrategyType"}},
        "status": {
            "desiredNumberScheduled": "int32",
            "observedGeneration": "int64",
            "updatedNumberScheduled": "int32",
            "numberAvailable": "int32",
        },
    },
)
