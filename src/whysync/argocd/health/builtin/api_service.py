"""APIService: is the extension API server reachable?"""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import condition
from whysync.argocd.health.builtin.typed import METADATA, GoCheck
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object, text


def _judge(api_service: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getAPIServiceHealth`, Argo CD 3.6. An unreachable one is not Degraded."""
    available = condition(api_service, "Available")
    if available is None:
        return HealthVerdict(HealthCode.PROGRESSING, "Waiting to be processed")
    code = HealthCode.HEALTHY if available.get("status") == "True" else HealthCode.PROGRESSING
    return HealthVerdict(code, f"{text(available.get('reason'))}: {text(available.get('message'))}")


API_SERVICE = GoCheck(
    name="APIService",
    versions=("v1", "v1beta1"),
    judge=_judge,
    shape={
        "metadata": METADATA,
        "status": {
            "conditions": [
                {
                    "type": "v1.APIServiceConditionType",
                    "status": "v1.ConditionStatus",
                    "reason": "string",
                    "message": "string",
                }
            ]
        },
    },
)
