"""Numaflow: pipelines, their vertices and the buffers between them."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check, verdict
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_UPGRADE = "numaplane.numaproj.io/progressive-result-state"


def _running(
    kind: str,
    *,
    paused: tuple[str, ...] = (),
    names_the_ill_part: bool = False,
    upgraded_by_numaplane: bool = True,
) -> Check:
    """Judged by phase, once the controller has seen the latest spec.

    `names_the_ill_part`: the message of the (last) False condition is told, not only that there is one.
    """

    def check(obj: Object) -> HealthVerdict:
        waiting = HealthVerdict(PROGRESSING, f"Waiting for {kind} status")
        status = lua.at(obj, "status")
        if status is None:
            return waiting
        phase, ill = lua.at(status, "phase"), _false_conditions(status)
        upgrade_failed = upgraded_by_numaplane and _upgrade_failed(obj)
        if not lua.same(lua.named(obj, "metadata", "generation"), lua.at(status, "observedGeneration")):
            return waiting
        if phase == "Failed":
            return verdict(DEGRADED, lua.at(status, "message"))
        if upgrade_failed:
            return HealthVerdict(DEGRADED, "Failed progressive upgrade")
        if ill:
            said = lua.at(ill[-1], "message") if names_the_ill_part else "Subresources are unhealthy"
            return verdict(DEGRADED, said)
        if phase in paused:
            return HealthVerdict(HEALTHY, f"{kind} is paused")
        return HealthVerdict(HEALTHY, f"{kind} is healthy") if phase == "Running" else waiting

    return check


def _false_conditions(status: Json) -> list[Json]:
    entries = lua.at(status, "conditions")
    return (
        [it for it in lua.ipairs(entries) if lua.at(it, "status") == "False"] if entries is not None else []
    )


def _upgrade_failed(obj: Object) -> bool:
    labels = lua.named(obj, "metadata", "labels")
    return labels is not None and lua.at(labels, _UPGRADE) == "failed"


GROUP = "numaflow.numaproj.io"
CHECKS: dict[str, Check] = {
    "InterStepBufferService": _running("InterStepBufferService", names_the_ill_part=True),
    "MonoVertex": _running("MonoVertex", paused=("Paused",)),
    "Pipeline": _running("Pipeline", paused=("Paused", "Pausing")),
    "Vertex": _running("Vertex", paused=("Paused",), names_the_ill_part=True, upgraded_by_numaplane=False),
}
