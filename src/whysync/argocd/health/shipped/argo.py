"""Argo and Numaproj: Rollouts, ApplicationSets, Workflows, Events, Numaflow, Numaplane."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    all_of,
    any_of,
    by,
    condition_is,
    conditions,
    degraded,
    each,
    either,
    healthy,
    in_order,
    not_,
    nothing,
    progressing,
    suspended,
    unknown,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, SUSPENDED, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# Argo itself: Rollouts with their analyses and experiments, ApplicationSets, Workflows, Events.

_HASH: Final = ".status.currentPodHash"


def _spec_not_observed(obj: Object, _item: Json) -> bool:
    """An observed generation that is not a number is a hash of an old controller, and accepted."""
    status = obj.get("status")
    if status is None:
        return True
    observed = lua.to_number(lua.at(status, "observedGeneration"))
    generation = None if observed is None else lua.at_path(obj, "metadata", "generation")
    if observed is not None and lua.less(observed, generation):
        return True
    if lua.at_path(obj, "spec", "workloadRef") is None:
        return False
    annotations = lua.at_path(obj, "metadata", "annotations")
    if annotations is None:
        return False
    workload_generation = lua.to_number(lua.at(annotations, "rollout.argoproj.io/workload-generation"))
    return workload_generation != lua.to_number(lua.at(status, "workloadObservedGeneration"))


def _phase(obj: Object, _item: Json = None, /) -> HealthVerdict:
    """The phase of the controller is the health, except that paused is Suspended."""
    phase = lua.at_path(obj, "status", "phase")
    return verdict(SUSPENDED if phase == "Paused" else phase, lua.at_path(obj, "status", "message"))


def _stable(obj: Object) -> Json:
    stable = lua.at_path(obj, "status", "stableRS")
    canary = lua.at_path(obj, "status", "canary")
    if stable is not None or canary is None:
        return stable if stable is not None else ""
    return lua.at(canary, "stableRS")


def _stable_is_another(obj: Object, _item: Json) -> bool:
    return not lua.same(_stable(obj), lua.at_path(obj, "status", "currentPodHash"))


def _stable_is_known(obj: Object, _item: Json) -> bool:
    return _stable(obj) != ""


_ROLLOUT: Final = in_order(
    when(_spec_not_observed, progressing("Waiting for rollout spec update to be observed")),
    when(".status.phase ~= nil", _phase),
    # From here on: controllers that do not report a phase yet.
    each(
        ".status.conditions",
        condition_is("InvalidSpec", None, degraded("{message}")),
        condition_is("Progressing", None, degraded("{message}"), reason="RolloutAborted"),
        condition_is("Progressing", None, degraded("{message}"), reason="ProgressDeadlineExceeded"),
        required=True,
    ),
    when("some(.status.pauseConditions) or .spec.paused", suspended("Rollout is paused")),
    when(f"{_HASH} == nil", progressing("Waiting for rollout to finish: status has not been reconciled.")),
    when(
        ".status.updatedReplicas|0 < .spec.replicas|1",
        progressing("Waiting for roll out to finish: More replicas need to be updated"),
    ),
    when(
        ".status.availableReplicas|0 < .status.updatedReplicas|0",
        progressing("Waiting for roll out to finish: updated replicas are still becoming available"),
    ),
    when(
        ".spec.strategy.blueGreen ~= nil",
        when(
            f".status.blueGreen == nil or .status.blueGreen.activeSelector ~= {_HASH}",
            progressing("active service cutover pending"),
        ),
        when(all_of(_stable_is_known, _stable_is_another), progressing("waiting for analysis to complete")),
        healthy(),
    ),
    when(
        ".spec.strategy.canary ~= nil",
        when(
            ".status.updatedReplicas|0 < .status.replicas|0",
            progressing("Waiting for roll out to finish: old replicas are pending termination"),
        ),
        when(
            any_of(not_(_stable_is_known), _stable_is_another),
            progressing("Waiting for rollout to finish steps"),
        ),
    ),
    healthy(),
)


def _first(kind: str, status: str, then: Step) -> Step:
    return each(".status?.conditions", condition_is(kind, status, then), keyed=True)


CHECKS["argoproj.io"] = {
    "AnalysisRun": in_order(
        when(
            ".status == nil",
            progressing("Waiting for analysis run to finish: status has not been reconciled."),
        ),
        by(
            ".status.phase",
            {
                "Pending": progressing("Analysis run is running"),
                "Running": progressing("Analysis run is running"),
                "Successful": healthy("{.status.message|Analysis run completed successfully}"),
                "Failed": degraded("{.status.message|Analysis run failed}"),
                "Error": degraded("{.status.message|Analysis run had an error}"),
                "Inconclusive": unknown("{.status.message|Analysis run was inconclusive}"),
            },
            other=nothing,
        ),
    ),
    "ApplicationSet": in_order(
        _first("ErrorOccurred", "True", degraded("{message}")),
        _first("ResourcesUpToDate", "False", degraded("{message}")),
        _first("RolloutProgressing", "True", progressing("{message}")),
        _first("ResourcesUpToDate", "True", healthy("{message}")),
        progressing("Waiting for the status to be reported"),
    ),
    "CronWorkflow": in_order(
        each(
            ".status?.conditions",
            condition_is("SpecError", "True", degraded("{message}")),
            condition_is("SubmissionError", "True", degraded("{message}")),
            condition_is("Completed", "True", healthy("{message}")),
            keyed=True,
        ),
        healthy("CronWorkflow is healthy."),
    ),
    "EventBus": in_order(
        conditions(
            condition_is("Deployed", "False", degraded(either("{message}", "{reason}"))),
            condition_is("Deployed", "True", healthy(either("{message}", "{reason}"))),
        ),
        progressing("Waiting for initialization"),
    ),
    "Experiment": in_order(
        when(
            ".status == nil", progressing("Waiting for experiment to finish: status has not been reconciled.")
        ),
        by(
            ".status.phase",
            {
                "Pending": progressing("Experiment is pending"),
                "Running": progressing("Experiment is running"),
                "Successful": healthy("Experiment is successful"),
                "Failed": degraded("Experiment has failed"),
                "Error": degraded("Experiment had an error"),
            },
            other=nothing,
        ),
    ),
    "Rollout": _ROLLOUT,
}


# Numaflow: pipelines, their vertices and the buffers between them.

_UPGRADE = "numaplane.numaproj.io/progressive-result-state"


def _running(
    kind: str,
    *,
    paused: tuple[str, ...] = (),
    with_condition_message: bool = False,
    upgraded_by_numaplane: bool = True,
) -> Check:
    """Assessed by phase, once the controller has observed the latest spec.

    `with_condition_message`: report the message of the last False condition, not only that there is one.
    """

    def check(obj: Object) -> HealthVerdict:
        waiting = HealthVerdict(PROGRESSING, f"Waiting for {kind} status")
        status = lua.at(obj, "status")
        if status is None:
            return waiting
        phase, ill = lua.at(status, "phase"), _false_conditions(status)
        upgrade_failed = upgraded_by_numaplane and _upgrade_failed(obj)
        if not lua.same(lua.at_path(obj, "metadata", "generation"), lua.at(status, "observedGeneration")):
            return waiting
        if phase == "Failed":
            return verdict(DEGRADED, lua.at(status, "message"))
        if upgrade_failed:
            return HealthVerdict(DEGRADED, "Failed progressive upgrade")
        if ill:
            message = lua.at(ill[-1], "message") if with_condition_message else "Subresources are unhealthy"
            return verdict(DEGRADED, message)
        if phase in paused:
            return HealthVerdict(HEALTHY, f"{kind} is paused")
        return HealthVerdict(HEALTHY, f"{kind} is healthy") if phase == "Running" else waiting

    return check


def _false_conditions(status: Json) -> list[Json]:
    entries = lua.at(status, "conditions")
    return (
        [condition for condition in lua.ipairs(entries) if lua.at(condition, "status") == "False"]
        if entries is not None
        else []
    )


def _upgrade_failed(obj: Object) -> bool:
    labels = lua.at_path(obj, "metadata", "labels")
    return labels is not None and lua.at(labels, _UPGRADE) == "failed"


CHECKS["numaflow.numaproj.io"] = {
    "InterStepBufferService": _running("InterStepBufferService", with_condition_message=True),
    "MonoVertex": _running("MonoVertex", paused=("Paused",)),
    "Pipeline": _running("Pipeline", paused=("Paused", "Pausing")),
    "Vertex": _running(
        "Vertex", paused=("Paused",), with_condition_message=True, upgraded_by_numaplane=False
    ),
}


# Numaplane: rollouts of Numaflow. Progress comes first, then failures, then pauses, then health.

_CHILD = "ChildResourcesHealthy"
_NUMAPLANE_UPGRADE = "ProgressiveUpgradeSucceeded"


def _numaplane_upgrade_failed(obj: Object, _item: Json) -> bool:
    entries = lua.at_path(obj, "status", "conditions")
    failed = False
    for condition in lua.ipairs(entries) if entries is not None else ():
        failed |= lua.at(condition, "type") == _NUMAPLANE_UPGRADE and lua.at(condition, "status") == "False"
    return failed


_NOT_RECONCILED = when(
    ".status == nil or .metadata.generation ~= .status.observedGeneration", progressing("Not yet reconciled")
)
_UPDATING = (
    ".status.upgradeInProgress ~= nil and .status.upgradeInProgress ~= '' or .status.phase == 'Pending'"
)
_UPDATE_IN_PROGRESS = progressing("Update in progress")
_CHILD_PROGRESSING = conditions(
    condition_is(_CHILD, "False", progressing("Child Progressing"), reason="Progressing")
)
_FAILED = when(".status.phase == 'Failed'", degraded("{.status.message}"))
_CHILD_HEALTHY = conditions(condition_is(_CHILD, "True", healthy("Healthy")))


def _rollout(*, failure: str, paused: str | None = None, unclear: str) -> Check:
    """A failed progressive upgrade is Degraded, although the update is still going on."""
    steps: list[Step] = [
        _NOT_RECONCILED,
        when(all_of(_UPDATING, not_(_numaplane_upgrade_failed)), _UPDATE_IN_PROGRESS),
        _CHILD_PROGRESSING,
        _FAILED,
        conditions(
            condition_is(_CHILD, "False", degraded("{message}"), reason=failure),
            condition_is(_NUMAPLANE_UPGRADE, "False", degraded("Progressive upgrade failed")),
        ),
    ]
    if paused is not None:
        steps.append(conditions(condition_is(paused, "True", healthy("{message}"))))
    return in_order(*steps, _CHILD_HEALTHY, unknown(unclear))


CHECKS["numaplane.numaproj.io"] = {
    "ISBServiceRollout": _rollout(failure="ISBSvcFailed", unclear="Unknown status"),
    "MonoVertexRollout": _rollout(
        failure="MonoVertexFailed", paused="MonoVertexPausingOrPaused", unclear="Unknown MonoVertex status"
    ),
    # The controller itself is not upgraded progressively.
    "NumaflowControllerRollout": in_order(
        _NOT_RECONCILED,
        when(_UPDATING, _UPDATE_IN_PROGRESS),
        _CHILD_PROGRESSING,
        _FAILED,
        conditions(when("reason ~= 'Progressing'", condition_is(_CHILD, "False", degraded("{message}")))),
        _CHILD_HEALTHY,
        unknown("Unknown status"),
    ),
    "PipelineRollout": _rollout(
        failure="PipelineFailed", paused="PipelinePausingOrPaused", unclear="Unknown Pipeline status"
    ),
}
