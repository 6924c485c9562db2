"""How the kinds of Crossplane's classic AWS provider are judged: by Ready and Synced together."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, SUSPENDED, Check, verdict
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def ready_and_synced(name: str) -> Check:
    def check(obj: Object) -> HealthVerdict:
        entries = lua.maybe(obj, "status", "conditions")
        if entries is None:
            return HealthVerdict(PROGRESSING, f"Waiting for {name} to be created")
        ready = synced = paused = False
        readiness: Json = None
        sync_error: Json = None
        for condition in lua.ipairs(entries):
            kind, reason = lua.at(condition, "type"), lua.at(condition, "reason")
            if kind == "Ready":
                ready = lua.at(condition, "status") == "True"
                readiness = reason
            elif kind == "Synced":
                synced = lua.at(condition, "status") == "True"
                paused = paused or reason == "ReconcilePaused"
                if reason == "ReconcileError":
                    sync_error = lua.at(condition, "message")
        if ready and synced:
            return verdict(HEALTHY, readiness)
        if paused and not synced:
            return HealthVerdict(SUSPENDED, "ReconcilePaused")
        if synced and not paused:
            return HealthVerdict(PROGRESSING, f"Waiting for {name} to be available")
        return verdict(DEGRADED, sync_error)

    return check
