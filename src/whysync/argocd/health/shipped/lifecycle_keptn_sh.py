"""Keptn: deployments and their tasks. A missing status is an error of the check, not "waiting"."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import Check, by, degraded, healthy, progressing


def _state(kind: str, field: str = "status") -> Check:
    return by(
        f".status.{field}",
        {"Succeeded": healthy(f"{kind} is healthy"), "Failed": degraded(f"{kind} is degraded")},
        progressing(f"{kind} is progressing"),
    )


GROUP = "lifecycle.keptn.sh"
CHECKS: dict[str, Check] = {
    "KeptnAppVersion": _state("KeptnAppVersion"),
    "KeptnEvaluation": _state("KeptnEvaluation", "overallStatus"),
    "KeptnTask": _state("KeptnTask"),
    "KeptnWorkloadInstance": _state("KeptnWorkloadInstance"),
    "KeptnWorkloadVersion": _state("KeptnWorkloadVersion"),
}
