"""Spark: applications. A running one is healthy when it has the executors it asked for."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    HEALTHY,
    Check,
    by,
    degraded,
    healthy,
    in_order,
    missing,
    progressing,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_NO_LIMIT: Final = float("inf")
_ERROR = degraded("{.status.applicationState.errorMessage}")


def _running(obj: Object, _it: Json = None, /) -> HealthVerdict | None:
    states = lua.named(obj, "status", "executorState")
    if states is None:
        return None
    count = sum(state == "RUNNING" for state in lua.pairs(states))
    return HealthVerdict(HEALTHY, "SparkApplication is Running") if _is_enough(obj, count) else None


def _is_enough(obj: Object, count: int) -> bool:
    wanted = lua.named(obj, "spec", "executor", "instances")
    if lua.same(wanted, count):
        return True
    allowed = _range(lua.at(obj, "spec"))
    if allowed is not None:
        least, most = allowed
        return lua.at_least(count, least) and lua.at_least(most, count)
    return wanted is None and lua.named(obj, "spec", "dynamicAllocation") is None and count >= 1


def _range(spec: Json) -> tuple[Json, Json] | None:
    """How many executors are allowed, by the spec or else by Spark's own settings."""
    dynamic, settings = lua.at(spec, "dynamicAllocation"), lua.at(spec, "sparkConf")
    if lua.truthy(dynamic) and lua.truthy(lua.at(dynamic, "enabled")):
        least, most = lua.at(dynamic, "minExecutors"), lua.at(dynamic, "maxExecutors")
        return (least if lua.truthy(least) else 0, most if lua.truthy(most) else _NO_LIMIT)
    if settings is None:
        return None
    for prefix in ("spark.streaming.dynamicAllocation", "spark.dynamicAllocation"):
        if lua.at(settings, f"{prefix}.enabled") == "true":
            least = lua.at(settings, f"{prefix}.minExecutors")
            most = lua.at(settings, f"{prefix}.maxExecutors")
            lower = lua.to_number(least) if least is not None else 0
            upper = lua.to_number(most) if most is not None else _NO_LIMIT
            return (lower, upper) if lower is not None else None
    return None


GROUP = "sparkoperator.k8s.io"
CHECKS: dict[str, Check] = {
    "SparkApplication": in_order(
        by(
            ".status?.applicationState.state",
            {
                "": progressing("SparkApplication was added, enqueuing it for submission"),
                "RUNNING": _running,
                "SUBMITTED": progressing("SparkApplication was submitted successfully"),
                "COMPLETED": healthy("SparkApplication was Completed"),
                "FAILED": _ERROR,
                "SUBMISSION_FAILED": _ERROR,
                "PENDING_RERUN": progressing("SparkApplication is Pending Rerun"),
                "INVALIDATING": missing("SparkApplication is in InvalidatingState"),
                # The line break and the spaces, also those at the end of UNKNOWN, are part of the messages.
                "SUCCEEDING": progressing(
                    "The driver pod has been completed successfully. "
                    "The executor pods terminate and are cleaned up.\n"
                    + " " * 32
                    + "Under this circumstances, we assume the executor pod are completed."
                ),
                "FAILING": _ERROR,
                "UNKNOWN": progressing(
                    "SparkApplication is in UnknownState because either driver pod "
                    "or one or all executor pods in unknown state  "
                ),
            },
        ),
        progressing("Waiting for Executor pods"),
    ),
}
