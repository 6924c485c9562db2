"""Workflow of Argo Workflows."""

from __future__ import annotations

from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import status_of
from whysync.argocd.health.builtin.typed import GoCheck
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object, text

_PHASES: Final = {
    "": HealthCode.PROGRESSING,
    "Pending": HealthCode.PROGRESSING,
    "Running": HealthCode.PROGRESSING,
    "Succeeded": HealthCode.HEALTHY,
    "Failed": HealthCode.DEGRADED,
    "Error": HealthCode.DEGRADED,
}


def _judge(workflow: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getArgoWorkflowHealth`, Argo CD 3.6."""
    status = status_of(workflow)
    phase, message = text(status.get("phase")), text(status.get("message"))
    return HealthVerdict(_PHASES.get(phase, HealthCode.UNKNOWN), message)


WORKFLOW = GoCheck(name="Workflow", judge=_judge)
