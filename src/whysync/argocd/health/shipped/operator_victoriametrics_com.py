"""The VictoriaMetrics operator: one check for all its kinds."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Getter,
    absent,
    by,
    degraded,
    healthy,
    in_order,
    none_of,
    present,
    progressing,
    same,
    suspended,
    when,
)
from whysync.json_tree import Json, Object


def _reason_or(plain: str) -> Getter:
    def write(obj: Object, _it: Json) -> Json:
        reason = lua.named(obj, "status", "reason")
        return reason if lua.truthy(reason) and reason != "" else plain

    return write


_NOT_RECONCILED = progressing("Waiting for the operator to reconcile")

GROUP = "operator.victoriametrics.com"
CHECKS: dict[str, Check] = {
    "*": in_order(
        when(absent(".status"), then=_NOT_RECONCILED),
        when(
            present(".metadata?.generation"),
            present(".status.observedGeneration"),
            none_of(same(".status.observedGeneration", ".metadata.generation")),
            then=_NOT_RECONCILED,
        ),
        by(
            ".status.updateStatus",
            {
                "operational": healthy("All components are operational"),
                "expanding": progressing(_reason_or("Reconciliation in progress")),
                "paused": suspended(_reason_or("Reconciliation is paused")),
                "failed": degraded(_reason_or("Reconciliation failed")),
            },
            progressing("Waiting for the operator to report status"),
        ),
    ),
}
