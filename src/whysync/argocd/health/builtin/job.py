"""Job. The status of its conditions is not asked for, but for Suspended: they count by being there."""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import conditions
from whysync.argocd.health.builtin.typed import METADATA, GoCheck, conditions_shape
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object, text


def _judge(job: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getBatchv1JobHealth`, Argo CD 3.6.

    A Job that was resumed keeps the condition Suspended=False and reads as Healthy while it still runs.
    """
    failed: str | None = None
    message = ""
    complete = suspended = False
    for found in conditions(job):
        match found.get("type"):
            case "Failed":
                complete, failed = True, text(found.get("message"))
            case "Complete":
                complete, message = True, text(found.get("message"))
            case "Suspended":
                complete, message = True, text(found.get("message"))
                suspended = suspended or found.get("status") == "True"
            case _:
                pass
    if not complete:
        return HealthVerdict(HealthCode.PROGRESSING, message)
    if failed is not None:
        return HealthVerdict(HealthCode.DEGRADED, failed)
    return HealthVerdict(HealthCode.SUSPENDED if suspended else HealthCode.HEALTHY, message)


JOB = GoCheck(
    name="Job",
    versions=("v1",),
    judge=_judge,
    shape={
        "metadata": METADATA,
        "spec": {"suspend": "bool"},
        "status": {"conditions": conditions_shape("v1.Job")},
    },
)
