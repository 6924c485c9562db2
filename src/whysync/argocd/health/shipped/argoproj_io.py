"""Argo itself: Rollouts with their analyses and experiments, ApplicationSets, Workflows, Events."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    SUSPENDED,
    Check,
    Step,
    absent,
    any_of,
    by,
    conditions,
    degraded,
    each,
    either,
    healthy,
    in_order,
    less,
    none_of,
    nothing,
    present,
    progressing,
    same,
    says,
    some,
    suspended,
    true,
    unknown,
    verdict,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

GROUP: Final = "argoproj.io"

_HASH: Final = ".status.currentPodHash"


def _spec_not_observed(obj: Object, _it: Json) -> bool:
    """An observed generation that is no number is the hash of an old controller, and taken for good."""
    status = obj.get("status")
    if status is None:
        return True
    observed = lua.to_number(lua.at(status, "observedGeneration"))
    generation = None if observed is None else lua.named(obj, "metadata", "generation")
    if observed is not None and lua.less(observed, generation):
        return True
    if lua.named(obj, "spec", "workloadRef") is None:
        return False
    annotations = lua.named(obj, "metadata", "annotations")
    if annotations is None:
        return False
    wanted = lua.to_number(lua.at(annotations, "rollout.argoproj.io/workload-generation"))
    return wanted != lua.to_number(lua.at(status, "workloadObservedGeneration"))


def _phase(obj: Object, _it: Json = None, /) -> HealthVerdict:
    """The controller's own word is taken as it is, except that paused is suspended."""
    phase = lua.named(obj, "status", "phase")
    return verdict(SUSPENDED if phase == "Paused" else phase, lua.named(obj, "status", "message"))


def _stable(obj: Object) -> Json:
    stable = lua.named(obj, "status", "stableRS")
    canary = lua.named(obj, "status", "canary")
    if stable is not None or canary is None:
        return stable if stable is not None else ""
    return lua.at(canary, "stableRS")


def _stable_is_another(obj: Object, _it: Json) -> bool:
    return not lua.same(_stable(obj), lua.named(obj, "status", "currentPodHash"))


def _stable_is_known(obj: Object, _it: Json) -> bool:
    return _stable(obj) != ""


_ROLLOUT: Final = in_order(
    when(_spec_not_observed, then=progressing("Waiting for rollout spec update to be observed")),
    when(present(".status.phase"), then=_phase),
    # From here on: controllers that do not tell a phase yet.
    each(
        ".status.conditions",
        says("InvalidSpec", None, degraded("{message}")),
        says("Progressing", None, degraded("{message}"), reason="RolloutAborted"),
        says("Progressing", None, degraded("{message}"), reason="ProgressDeadlineExceeded"),
        required=True,
    ),
    when(any_of(some(".status.pauseConditions"), true(".spec.paused")), then=suspended("Rollout is paused")),
    when(
        absent(_HASH),
        then=progressing("Waiting for rollout to finish: status has not been reconciled."),
    ),
    when(
        less(".status.updatedReplicas|0", ".spec.replicas|1"),
        then=progressing("Waiting for roll out to finish: More replicas need to be updated"),
    ),
    when(
        less(".status.availableReplicas|0", ".status.updatedReplicas|0"),
        then=progressing("Waiting for roll out to finish: updated replicas are still becoming available"),
    ),
    when(
        present(".spec.strategy.blueGreen"),
        then=in_order(
            when(
                any_of(absent(".status.blueGreen"), none_of(same(".status.blueGreen.activeSelector", _HASH))),
                then=progressing("active service cutover pending"),
            ),
            when(
                _stable_is_known,
                _stable_is_another,
                then=progressing("waiting for analysis to complete"),
            ),
            healthy(),
        ),
    ),
    when(
        present(".spec.strategy.canary"),
        then=in_order(
            when(
                less(".status.updatedReplicas|0", ".status.replicas|0"),
                then=progressing("Waiting for roll out to finish: old replicas are pending termination"),
            ),
            when(
                any_of(none_of(_stable_is_known), _stable_is_another),
                then=progressing("Waiting for rollout to finish steps"),
            ),
        ),
    ),
    healthy(),
)


def _first(kind: str, status: str, then: Step) -> Step:
    return each(".status?.conditions", says(kind, status, then), keyed=True)


CHECKS: Final[dict[str, Check]] = {
    "AnalysisRun": in_order(
        when(
            absent(".status"),
            then=progressing("Waiting for analysis run to finish: status has not been reconciled."),
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
            says("SpecError", "True", degraded("{message}")),
            says("SubmissionError", "True", degraded("{message}")),
            says("Completed", "True", healthy("{message}")),
            keyed=True,
        ),
        healthy("CronWorkflow is healthy."),
    ),
    "EventBus": in_order(
        conditions(
            says("Deployed", "False", degraded(either("{message}", "{reason}"))),
            says("Deployed", "True", healthy(either("{message}", "{reason}"))),
        ),
        progressing("Waiting for initialization"),
    ),
    "Experiment": in_order(
        when(
            absent(".status"),
            then=progressing("Waiting for experiment to finish: status has not been reconciled."),
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
