"""The external secrets of kubernetes-client, the forerunner of external-secrets.io."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object


def _external_secret(obj: Object) -> HealthVerdict:
    waiting = HealthVerdict(PROGRESSING, "Waiting for ExternalSecret.")
    status = lua.at(obj, "status")
    if status is None:
        return waiting
    state = lua.at(status, "status")
    if state == "SUCCESS":
        return HealthVerdict(HEALTHY, "Fetched ExternalSecret.")
    if not isinstance(state, str):
        raise lua.LuaError(f"attempt to index a non-table object({lua.type_name(state)}) with key 'find'")
    return HealthVerdict(DEGRADED, state.replace("ERROR, ", "")) if state.startswith("ERROR") else waiting


GROUP = "kubernetes-client.io"
CHECKS: dict[str, Check] = {"ExternalSecret": _external_secret}
