"""KServe: inference services."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, SUSPENDED, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _inference_service(obj: Object) -> HealthVerdict:
    """A False or Unknown condition is progress; only the model's own transition can be a failure."""
    waiting = HealthVerdict(PROGRESSING, "Waiting for InferenceService to report status...")
    status = lua.at(obj, "status")
    if status is None:
        return waiting
    said = ""
    moving = failed = False
    model = lua.at(status, "modelStatus")
    if model is not None:
        transition = lua.at(model, "transitionStatus")
        moving, failed = transition == "InProgress", transition not in ("UpToDate", "InProgress")
        if moving or failed:
            said = lua.concat("0: transitionStatus | ", transition)
    entries = lua.at(status, "conditions")
    if entries is None:
        return waiting
    for place, condition in lua.numbered(entries):
        kind, state = lua.at(condition, "type"), lua.at(condition, "status")
        if kind == "Stopped" and state == "True":
            return HealthVerdict(SUSPENDED, "InferenceService is Stopped")
        moving |= state == "Unknown" or (state == "False" and kind != "Stopped")
        if state != "True" and kind != "Stopped":
            said += _complaint(place, condition)
    if failed:
        return HealthVerdict(DEGRADED, said)
    return (
        HealthVerdict(PROGRESSING, said) if moving else HealthVerdict(HEALTHY, "InferenceService is healthy.")
    )


def _complaint(place: Json, condition: Json) -> str:
    said = lua.concat(" | ", place, ": ", lua.at(condition, "type"), " | ", lua.at(condition, "status"))
    for detail in (lua.at(condition, "reason"), lua.at(condition, "message")):
        if detail is not None and detail != "":
            said = lua.concat(said, " | ", detail)
    return said


GROUP = "serving.kserve.io"
CHECKS: dict[str, Check] = {"InferenceService": _inference_service}
