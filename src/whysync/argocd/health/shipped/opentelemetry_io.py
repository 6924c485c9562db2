"""OpenTelemetry: collectors, judged by a text such as `2/3`."""

from __future__ import annotations

import re

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _collector(obj: Object) -> HealthVerdict:
    status = lua.at(obj, "status")
    if status is None:
        return HealthVerdict(PROGRESSING, "Waiting for OpenTelemetry Collector status")
    replicas = lua.maybe(status, "scale", "statusReplicas")
    if replicas is None:
        if lua.named(obj, "spec", "mode") == "sidecar":
            return HealthVerdict(HEALTHY, "Collector is running in sidecar mode")
        return HealthVerdict(PROGRESSING, "Scale status not available")
    written = _as_text(replicas)
    found = re.search(r"(?<![0-9])([0-9]+)/([0-9]+)", written)
    if found is None:
        return HealthVerdict(PROGRESSING, f"Unable to parse replica status: {written}")
    ready, total = float(found[1]), float(found[2])
    if ready == 0:
        # A DaemonSet may find no node to run on, and that is fine.
        if lua.maybe(obj, "spec", "mode") == "daemonset" and total == 0:
            return HealthVerdict(HEALTHY, "DaemonSet has no eligible nodes (0/0)")
        return HealthVerdict(DEGRADED, "No replicas are ready")
    if ready == total:
        return HealthVerdict(HEALTHY, "All replicas are ready")
    return HealthVerdict(PROGRESSING, "Replicas are starting up")


def _as_text(value: Json) -> str:
    if isinstance(value, str) or lua.is_number(value):
        return lua.concat(value)
    raise lua.LuaError(f"bad argument #1 to match (string expected, got {lua.type_name(value)})")


GROUP = "opentelemetry.io"
CHECKS: dict[str, Check] = {"OpenTelemetryCollector": _collector}
