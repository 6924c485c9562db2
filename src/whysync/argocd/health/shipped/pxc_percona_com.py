"""Percona: XtraDB clusters."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import Check, by, degraded, healthy, progressing, unknown
from whysync.json_tree import Json, Object

_NODES = "{.status.ready}/{.status.size} node(s) are ready"


def _errors(obj: Object, _it: Json) -> Json:
    return "Cluster is on error: " + lua.joined(lua.named(obj, "status", "message"), ", ")


GROUP = "pxc.percona.com"
CHECKS: dict[str, Check] = {
    "PerconaXtraDBCluster": by(
        ".status?.state",
        {
            "initializing": progressing(_NODES),
            "ready": healthy(_NODES),
            "paused": unknown("Cluster is paused"),
            "stopping": degraded(f"Cluster is stopping ({_NODES})"),
            "error": degraded(_errors),
        },
        unknown(
            "Cluster status is unknown. Ensure your ArgoCD is current and then check for/file a bug report: "
            "https://github.com/argoproj/argo-cd/issues"
        ),
    ),
}
