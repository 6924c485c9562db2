"""OpenShift's DeploymentConfig, the elder of Deployment."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "apps.openshift.io"

_WAITING: Final = HealthVerdict(PROGRESSING, "replication controller is waiting for pods to run")


def deployment_config(obj: Object) -> HealthVerdict:
    """Two conditions make it healthy, one of them means that it is under way."""
    entries = lua.maybe(obj, "status", "conditions")
    replicas = lua.maybe(obj, "status", "replicas")
    if entries is None or replicas is None:
        return _WAITING
    good = sum(1 for condition in lua.pairs(entries) if _is_good(condition))
    if good == 2 or lua.same(replicas, 0):
        return HealthVerdict(HEALTHY, "replication controller successfully rolled out")
    return _WAITING if good == 1 else HealthVerdict(DEGRADED, "Deployment config is degraded")


def _is_good(condition: Json) -> bool:
    kind = lua.at(condition, "type")
    rolled_out = kind == "Progressing" and lua.at(condition, "reason") == "NewReplicationControllerAvailable"
    return (kind == "Available" or rolled_out) and lua.at(condition, "status") == "True"


CHECKS: Final[dict[str, Check]] = {"DeploymentConfig": deployment_config}
