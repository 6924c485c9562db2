"""Proclaim: services announced by DNS-SD."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, UNKNOWN, Check, verdict
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _service_instance(obj: Object) -> HealthVerdict:
    entries = lua.maybe(obj, "status", "conditions")
    last: dict[str, Json] = {"Adopted": {}, "Advertised": {}, "Discoverable": {}}
    for condition in lua.ipairs(entries) if entries is not None else ():
        kind = lua.at(condition, "type")
        if isinstance(kind, str) and kind in last:
            last[kind] = condition
    adopted, advertised, discoverable = last.values()
    found = lua.at(discoverable, "message")
    if lua.at(adopted, "status") == "False":
        return verdict(DEGRADED, lua.at(adopted, "message"))
    if lua.at(advertised, "reason") in ("AdvertiseError", "UnadvertiseError"):
        return verdict(DEGRADED, lua.at(advertised, "message"))
    if lua.at(discoverable, "reason") == "DiscoveryError":
        return verdict(UNKNOWN, found)
    return verdict(HEALTHY if lua.at(discoverable, "status") == "True" else PROGRESSING, found)


GROUP = "proclaim.dogmatiq.io"
CHECKS: dict[str, Check] = {"DNSSDServiceInstance": _service_instance}
