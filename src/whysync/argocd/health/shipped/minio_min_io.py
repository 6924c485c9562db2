"""MinIO: tenants. The state is the message; whatever is not listed is on its way."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_STATES = {
    "Initialized": HEALTHY,
    "Statefulset not controlled by operator": DEGRADED,
    "Another MinIO Tenant already exists in the namespace": DEGRADED,
    "Tenant credentials are not set properly": DEGRADED,
    "Different versions across MinIO Pools": DEGRADED,
    "Pool Decommissioning Not Allowed": DEGRADED,
}


def _tenant(obj: Object) -> HealthVerdict:
    state: Json = lua.maybe(obj, "status", "currentState")
    if state is None:
        return HealthVerdict(PROGRESSING, "No status info available")
    if not isinstance(state, str):
        raise lua.LuaError(f"attempt to index a non-table object({lua.type_name(state)}) with key 'find'")
    return HealthVerdict(_STATES.get(state, PROGRESSING), state)


GROUP = "minio.min.io"
CHECKS: dict[str, Check] = {"Tenant": _tenant}
