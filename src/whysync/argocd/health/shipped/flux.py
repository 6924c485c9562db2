"""Flux and Flagger."""

from __future__ import annotations

from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    code_for,
    healthy,
    in_order,
    progressing,
    suspended,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, UNKNOWN, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Flux objects are assessed by counting conditions.
#
# An object is busy when Ready is not settled *and* it is Reconciling, and done when enough of the
# conditions it lives by are True. Everything between is Degraded, even an empty list of conditions.

SUSPENDED_BY_SPEC = when(".spec.suspend == true", suspended("{.kind} is suspended"))
STATUS_UNKNOWN = progressing("Status unknown")


def counted(
    *,
    unsettled: str = "Unknown",
    busy: HealthCode = PROGRESSING,
    busy_reasons: tuple[str, ...] = (),
    also_true: tuple[str, ...] = (),
    with_outdated: bool = False,
) -> Step:
    """The verdict of `.status.conditions`; `None` if there are none.

    `unsettled` is the status of Ready while Flux reconciles; with `busy_reasons`, Reconciling counts only for
    these reasons. One of the conditions `also_true` has to be True in addition to Ready.
    """
    enough = 2 if also_true else 1

    def evaluate(obj: Object, _item: Json = None, /) -> HealthVerdict | None:
        entries = lua.maybe(obj, "status", "conditions")
        if entries is None:
            return None
        in_progress = succeeded = 0
        message: Json = ""
        for condition in lua.ipairs(entries):
            kind, status = lua.at(condition, "type"), lua.at(condition, "status")
            reason = lua.at(condition, "reason")
            if kind == "Ready":
                succeeded += status == "True"
                in_progress += status == unsettled
                message = reason
            elif status != "True":
                continue
            elif kind == "Reconciling":
                in_progress += not busy_reasons or reason in busy_reasons
            elif with_outdated and kind == "ArtifactOutdated":
                message = lua.concat(message, " ", reason)
            else:
                succeeded += kind in also_true
        code = busy if in_progress == 2 else HEALTHY if succeeded == enough else DEGRADED
        return verdict(code, message)

    return evaluate


# Flux: Helm releases.

CHECKS["helm.toolkit.fluxcd.io"] = {
    "HelmRelease": in_order(SUSPENDED_BY_SPEC, counted(also_true=("Released", "TestSuccess")), STATUS_UNKNOWN)
}


# Flux: image scanning and the updates that follow from it.

CHECKS["image.toolkit.fluxcd.io"] = {
    # A policy cannot be suspended.
    "ImagePolicy": in_order(
        counted(unsettled="False", busy_reasons=("NewGeneration", "AccessingRepository", "ApplyingPolicy")),
        STATUS_UNKNOWN,
    ),
    "ImageRepository": in_order(
        SUSPENDED_BY_SPEC,
        counted(unsettled="False", busy_reasons=("NewGeneration", "Scanning")),
        STATUS_UNKNOWN,
    ),
    "ImageUpdateAutomation": in_order(SUSPENDED_BY_SPEC, counted(), STATUS_UNKNOWN),
}


# Flux: kustomizations.

CHECKS["kustomize.toolkit.fluxcd.io"] = {
    "Kustomization": in_order(SUSPENDED_BY_SPEC, counted(), STATUS_UNKNOWN)
}


# Flux: webhook receivers.

CHECKS["notification.toolkit.fluxcd.io"] = {
    # Unlike the other Flux kinds, a receiver that is not ready and still reconciling counts as broken.
    "Receiver": in_order(SUSPENDED_BY_SPEC, counted(unsettled="False", busy=DEGRADED), STATUS_UNKNOWN)
}


# Flux: the sources that artifacts come from.

_ARTIFACT = counted(also_true=("ArtifactInStorage",), with_outdated=True)
_SOURCE = in_order(SUSPENDED_BY_SPEC, _ARTIFACT, STATUS_UNKNOWN)

CHECKS["source.toolkit.fluxcd.io"] = {
    "Bucket": _SOURCE,
    "GitRepository": _SOURCE,
    "HelmChart": _SOURCE,
    "HelmRepository": in_order(
        SUSPENDED_BY_SPEC,
        when(
            ".spec.type == 'oci'",
            healthy("Helm repositories of type 'oci' do not contain any information in the status."),
        ),
        _ARTIFACT,
        STATUS_UNKNOWN,
    ),
    "OCIRepository": _SOURCE,
}


# Flagger: canaries.

_BETWEEN: Final = " --- "
_PHASES: Final = {
    "Failed": DEGRADED,
    "Progressing": PROGRESSING,
    "Finalising": PROGRESSING,
    "Promoting": PROGRESSING,
    "Succeeded": HEALTHY,
    "Initialized": HEALTHY,
}


def canary(obj: Object) -> HealthVerdict:
    """The message is the phase, the weight if there is any, and the messages of all conditions."""
    status = obj.get("status")
    if status is None:
        return HealthVerdict(UNKNOWN, "No status")
    weight = lua.at(status, "canaryWeight")
    message = ""
    if lua.less(0, lua.to_number(weight)):
        message = lua.concat("Canary Weight: ", weight, " %")
    for condition in lua.ipairs(lua.at(status, "conditions")):
        message = lua.concat(message, _BETWEEN if message else "", lua.at(condition, "message"))
    phase = lua.at(status, "phase")
    return HealthVerdict(code_for(phase, _PHASES, UNKNOWN), lua.concat(phase, _BETWEEN, message))


CHECKS["flagger.app"] = {"Canary": canary}
