"""nmstate: the network of nodes. A policy that matches no node is Ignored, on purpose."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    SUSPENDED,
    Check,
    conditions,
    in_order,
    progressing,
    verdict,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_MEANING = {
    "Available": HEALTHY,
    "Degraded": DEGRADED,
    "Progressing": PROGRESSING,
    "Ignored": SUSPENDED,
}


def _true_condition(_obj: Object, it: Json = None, /) -> HealthVerdict | None:
    if lua.at(it, "status") != "True":
        return None
    kind, reason, details = lua.at(it, "type"), lua.at(it, "reason"), lua.at(it, "message")
    said = reason if details is None or details == "" else lua.concat(reason, ": ", details)
    return verdict(_MEANING[kind], said) if isinstance(kind, str) and kind in _MEANING else None


GROUP = "nmstate.io"
CHECKS: dict[str, Check] = {
    "NodeNetworkConfigurationPolicy": in_order(
        conditions(_true_condition), progressing("Waiting for policy to be applied")
    ),
}
