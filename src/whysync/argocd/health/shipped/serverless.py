"""Functions, models and event-driven workloads: Knative, KServe, OpenFaaS, SpinKube, KEDA, Keptn."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    by,
    condition_is,
    conditions,
    degraded,
    healthy,
    in_order,
    progressing,
    suspended,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, SUSPENDED, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Knative's operator: Serving and Eventing, healthy when a number of conditions are True.


def _installed(kind: str, *, required: tuple[str, ...], awaited: tuple[str, ...]) -> Check:
    """All of `required` must be True; a False one of `awaited`, or any Unknown, means Progressing."""

    def check(obj: Object) -> HealthVerdict:
        entries = lua.maybe(obj, "status", "conditions")
        if entries is None:
            return HealthVerdict(PROGRESSING, f"Waiting for {kind}")
        satisfied = pending = 0
        lines: list[str] = []
        for position, condition in lua.numbered(entries):
            condition_type, status = lua.at(condition, "type"), lua.at(condition, "status")
            lines.append(lua.concat(position, ": ", condition_type, " | ", status, "\n"))
            satisfied += status == "True" and condition_type in required
            pending += status == "Unknown" or (status == "False" and condition_type in awaited)
        if pending == 0 and satisfied == len(required):
            return HealthVerdict(HEALTHY, f"{kind} is healthy.")
        return HealthVerdict(PROGRESSING if pending else DEGRADED, "".join(lines))

    return check


CHECKS["operator.knative.dev"] = {
    "KnativeEventing": _installed(
        "KnativeEventing", required=("Ready", "InstallSucceeded"), awaited=("Ready",)
    ),
    "KnativeServing": _installed(
        "KnativeServing",
        required=("Ready", "InstallSucceeded", "DependenciesInstalled", "DeploymentsAvailable"),
        awaited=("Ready", "DeploymentsAvailable"),
    ),
}


# Knative Serving: services.

_REQUIRED = ("ConfigurationsReady", "RoutesReady", "Ready")


def _service(obj: Object) -> HealthVerdict:
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return HealthVerdict(PROGRESSING, "Waiting for status update.")
    good = bad = 0
    problems: list[str] = []
    for condition in lua.pairs(entries):
        status = lua.at(condition, "status")
        good += status == "True" and lua.at(condition, "type") in _REQUIRED
        bad += status == "False"
        if status in ("False", "Unknown"):
            problems.append(_condition_text(condition))
    if good == len(_REQUIRED) and not problems:
        return HealthVerdict(HEALTHY, "Knative Service is healthy.")
    return HealthVerdict(DEGRADED if bad else PROGRESSING, "".join(problems))


def _condition_text(condition: Json) -> str:
    reason, message = lua.at(condition, "reason"), lua.at(condition, "message")
    complaint = lua.concat(lua.at(condition, "type"), " is ", lua.at(condition, "status"))
    if reason is not None and reason != "":
        complaint = lua.concat(complaint, ", since ", reason, ".")
    if message is not None and message != "":
        complaint = lua.concat(complaint, " ", message)
    return complaint + "\n"


CHECKS["serving.knative.dev"] = {"Service": _service}


# KServe: inference services.


def _inference_service(obj: Object) -> HealthVerdict:
    """A False or Unknown condition means Progressing; only the model's transition can be a failure."""
    waiting = HealthVerdict(PROGRESSING, "Waiting for InferenceService to report status...")
    status = lua.at(obj, "status")
    if status is None:
        return waiting
    message = ""
    moving = failed = False
    model = lua.at(status, "modelStatus")
    if model is not None:
        transition = lua.at(model, "transitionStatus")
        moving, failed = transition == "InProgress", transition not in ("UpToDate", "InProgress")
        if moving or failed:
            message = lua.concat("0: transitionStatus | ", transition)
    entries = lua.at(status, "conditions")
    if entries is None:
        return waiting
    for position, condition in lua.numbered(entries):
        kind, state = lua.at(condition, "type"), lua.at(condition, "status")
        if kind == "Stopped" and state == "True":
            return HealthVerdict(SUSPENDED, "InferenceService is Stopped")
        moving |= state == "Unknown" or (state == "False" and kind != "Stopped")
        if state != "True" and kind != "Stopped":
            message += _kserve_condition_text(position, condition)
    if failed:
        return HealthVerdict(DEGRADED, message)
    return (
        HealthVerdict(PROGRESSING, message)
        if moving
        else HealthVerdict(HEALTHY, "InferenceService is healthy.")
    )


def _kserve_condition_text(position: Json, condition: Json) -> str:
    message = lua.concat(" | ", position, ": ", lua.at(condition, "type"), " | ", lua.at(condition, "status"))
    for detail in (lua.at(condition, "reason"), lua.at(condition, "message")):
        if detail is not None and detail != "":
            message = lua.concat(message, " | ", detail)
    return message


CHECKS["serving.kserve.io"] = {"InferenceService": _inference_service}


# OpenFaaS: functions. One that is scaled to zero sleeps.

_READY = in_order(
    when(".status.replicas ~= nil and 0 < .status.replicas", healthy("{message}")),
    suspended("No replicas available"),
)

CHECKS["openfaas.com"] = {
    "Function": in_order(
        conditions(
            condition_is("Ready", "False", degraded("{message}")),
            condition_is("Stalled", "True", degraded("{message}")),
            condition_is("Ready", "True", _READY),
        ),
        progressing("Waiting for Function"),
    )
}


# SpinKube: WebAssembly applications.


def spin_app(obj: Object) -> HealthVerdict:
    status = obj.get("status")
    if not lua.truthy(status):
        return HealthVerdict(PROGRESSING, "Waiting for status to be available")
    entries = lua.at(status, "conditions")
    available = False
    availability: Json = ""
    progress: Json = None
    for condition in lua.ipairs(entries) if lua.truthy(entries) else ():
        message = lua.at(condition, "message")
        is_true = lua.at(condition, "status") == "True"
        match lua.at(condition, "type"):
            case "Progressing":
                if _has_failed(condition):
                    return verdict(DEGRADED, _or(message, "Application deployment has failed"))
                if is_true:
                    progress = _or(message, "Application progress status")
            case "Available":
                available = is_true
                otherwise = "availability status" if is_true else "is not available"
                availability = _or(message, f"Application {otherwise}")
            case _:
                pass
    ready, required = _or(lua.at(status, "readyReplicas"), 0), _or(lua.at_path(obj, "spec", "replicas"), 1)
    if not available:
        return verdict(DEGRADED, availability)
    counted = lua.concat(ready, "/", required)
    if lua.less(ready, required):
        return HealthVerdict(PROGRESSING, f"Waiting for replicas to be ready ({counted})")
    if progress is not None:
        return verdict(PROGRESSING, progress)
    return HealthVerdict(HEALTHY, f"Application is healthy with {counted} replicas ready")


def _has_failed(condition: Json) -> bool:
    if lua.at(condition, "status") != "False":
        return False
    if lua.at(condition, "reason") == "ProgressDeadlineExceeded":
        return True
    message = lua.at(condition, "message")
    lowered = lua.concat(message).lower() if lua.truthy(message) else ""
    return "timeout" in lowered or "failed" in lowered


def _or(value: Json, default: Json) -> Json:
    return value if lua.truthy(value) else default


CHECKS["core.spinkube.dev"] = {"SpinApp": spin_app}


# KEDA: what scales on events.

_HEALTHY = ("Ready", "True")
_PAUSED = ("Paused", "True")


def _scaled(*, bad: tuple[tuple[str, str], ...], waiting: str) -> Check:
    """The last relevant condition has the message, the worst one the verdict."""

    def check(obj: Object) -> HealthVerdict:
        entries = lua.maybe(obj, "status", "conditions")
        codes: list[Json] = []
        message: Json = None
        for condition in lua.ipairs(entries) if entries is not None else ():
            state = (lua.at(condition, "type"), lua.at(condition, "status"))
            code = DEGRADED if state in bad else HEALTHY if state == _HEALTHY else SUSPENDED
            if code is not SUSPENDED or state == _PAUSED:
                codes.append(code)
                message = lua.at(condition, "message")
        if DEGRADED in codes:
            return verdict(DEGRADED, message)
        if HEALTHY in codes:
            return verdict(SUSPENDED if SUSPENDED in codes else HEALTHY, message)
        return HealthVerdict(PROGRESSING, waiting)

    return check


CHECKS["keda.sh"] = {
    "ScaledJob": _scaled(bad=(("Ready", "False"), ("Ready", "Unknown")), waiting="Waiting for ScaledJob"),
    "ScaledObject": _scaled(
        bad=(("Ready", "False"), ("Fallback", "True")), waiting="Creating HorizontalPodAutoscaler Object"
    ),
}


# Keptn: deployments and their tasks. A missing status is an error of the check, not "waiting".


def _state(kind: str, field: str = "status") -> Check:
    return by(
        f".status.{field}",
        {"Succeeded": healthy(f"{kind} is healthy"), "Failed": degraded(f"{kind} is degraded")},
        progressing(f"{kind} is progressing"),
    )


CHECKS["lifecycle.keptn.sh"] = {
    "KeptnAppVersion": _state("KeptnAppVersion"),
    "KeptnEvaluation": _state("KeptnEvaluation", "overallStatus"),
    "KeptnTask": _state("KeptnTask"),
    "KeptnWorkloadInstance": _state("KeptnWorkloadInstance"),
    "KeptnWorkloadVersion": _state("KeptnWorkloadVersion"),
}


# Keptn: metrics and analyses. A missing status is an error of the check, not "waiting".

CHECKS["metrics.keptn.sh"] = {
    "Analysis": in_order(
        when(".status.pass == true", healthy("Analysis is healthy")),
        when(".status.warning == true", healthy("Analysis is healthy with warnings")),
        when(".status.pass == false", degraded("Analysis is degraded")),
        progressing("Analysis is progressing"),
    ),
    "KeptnMetric": in_order(
        when(".status.errMsg ~= nil and .status.errMsg ~= ''", degraded("KeptnMetric is degraded")),
        when(".status.value ~= nil", healthy("KeptnMetric is healthy")),
        progressing("KeptnMetric is progressing"),
    ),
}
