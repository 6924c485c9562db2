"""Is the health in the status of the Application older than the live object?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.argocd.api.application import HealthCode, ResourceRow
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.json_tree import dig, fields, integer, items, text
from whysync.kubernetes.api.manifest import Manifest

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_STALE = frozenset({HealthCode.PROGRESSING, HealthCode.DEGRADED})
# Counters of Pods that work, in the status of workloads of any kind.
_AVAILABLE = ("availableReplicas", "numberAvailable", "readyReplicas", "numberReady")
_GOOD_CONDITIONS = frozenset({"Ready", "Available", "Complete", "Succeeded", "Healthy"})
_GOOD_PHASES = frozenset({"Bound", "Succeeded"})
# Fields of a custom resource in which its controller sums up its state, and the words for a good one.
_SUMMARIES = ("health", "phase", "state", "status")
_GOOD_WORDS = frozenset({"available", "green", "healthy", "operational", "ready", "running"})


def proof_of_current_health(case: Case, row: ResourceRow) -> str | None:
    """The pointer to what shows that a row which is not Healthy is out of date; `None` where nothing does.

    Argo CD's own check calls the live object Healthy, and its status is more than a part of one: a check
    also calls an object without any status Healthy.
    """
    if row.health is None or row.health.status not in _STALE:
        return None
    live = case.live_of(row.key)
    if live is None or live.meta.get("deletionTimestamp") or not live.status:
        return None
    verdict = case.health_of(live)
    if verdict is None or verdict.code != HealthCode.HEALTHY:
        return None
    return _proof(live)


def is_read_differently(case: Case, row: ResourceRow) -> bool:
    """Is a custom resource Progressing in the app, while the current check calls its status Healthy?

    Then this Argo CD has another check for the kind, or the row is out of date. Without its status the object
    is not Healthy: the check does read the status.
    """
    live = case.live_of(row.key)
    if row.health is None or row.health.status != HealthCode.PROGRESSING or live is None or not live.status:
        return False
    if is_builtin(row.ref) or live.meta.get("deletionTimestamp") or _proof(live) is not None:
        return False
    verdict = case.health_of(live)
    if verdict is None or verdict.code != HealthCode.HEALTHY:
        return False
    bare = live.with_body({name: value for name, value in live.body.items() if name != "status"})
    without = case.health_of(bare)
    return without is not None and without.code != HealthCode.HEALTHY


def _proof(live: Manifest) -> str | None:
    status = live.status
    wanted = integer(status.get("desiredNumberScheduled")) or integer(live.spec.get("replicas")) or 1
    if any(name in status for name in _AVAILABLE) and "observedGeneration" not in status:
        return None  # the controller of the workload does not report for which generation it counts
    for name in _AVAILABLE:
        if (integer(status.get(name)) or 0) >= wanted:
            return f"/status/{name}"
    if any(name in status for name in ("replicas", "desiredNumberScheduled", "observedGeneration")):
        return _condition(live) if not live.spec.get("template") else None
    if any(fields(entry) for entry in items(dig(status, "loadBalancer", "ingress"))):
        return "/status/loadBalancer/ingress"
    if text(status.get("phase")) in _GOOD_PHASES:
        return "/status/phase"
    for name in _SUMMARIES:
        if text(status.get(name)).lower() in _GOOD_WORDS and not is_builtin(live.ref):
            return f"/status/{name}"
    return _condition(live)


def _condition(live: Manifest) -> str | None:
    """A condition which says that the object works; none that says the opposite."""
    conditions = [fields(raw) for raw in items(live.status.get("conditions"))]
    good = [c.get("type") in _GOOD_CONDITIONS for c in conditions]
    if any(is_good and c.get("status") != "True" for is_good, c in zip(good, conditions, strict=True)):
        return None
    return f"/status/conditions/{good.index(True)}" if any(good) else None


def is_reported_unhealthy(case: Case, live: Manifest) -> bool:
    """Does Argo CD report it as Degraded or Progressing, and nothing shows that this is out of date?

    The live object in the facts may be a part of it, which a health check then calls Healthy.
    """
    row = case.rows.get(live.key)
    reported = row is not None and row.health is not None and row.health.status in _STALE
    return reported and row is not None and proof_of_current_health(case, row) is None
