"""Problems in the status of live objects: conditions, phases, and container states.

Conditions are read as in kstatus: types such as `Ready` report a problem if they are `False`, types such as
`Stalled` if they are `True`. Only resources of the app and the objects that they own count, and only if the
resource is not Healthy: an old Pod may be unready while its Deployment is Healthy. A Healthy custom resource
counts with the failures that its own conditions report. A custom resource that no health check and no
condition calls ready also counts with conditions and phases that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.diagnosis.current_health import is_reported_unhealthy
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.status_failures import is_progress_failed, status_failures, unrecognized_states
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.json_tree import Object, fields, integer, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key
from whysync.messages.benign import reports_progress

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_BAD_IF_FALSE = frozenset(
    {
        *("Ready", "Available", "Healthy", "Synced", "Accepted", "Programmed", "ResolvedRefs"),
        *("Established", "NamesAccepted", "Progressing", "ScalingActive", "AbleToScale", "Succeeded"),
        *("PodScheduled", "Initialized", "ContainersReady", "Valid", "Reconciled", "Deployed", "Installed"),
        *("Provisioned", "Issued", "Approved"),
    }
)
_BAD_IF_TRUE = frozenset(
    {
        *("Stalled", "Failed", "Degraded", "Failing", "Error", "ErrorOccurred", "ReplicaFailure"),
        *("ReconcileError", "ReconcileFailed", "Denied", "InvalidRequest", "DisruptionTarget"),
        *("NonStructuralSchema", "NamespaceDeletionContentFailure", "NamespaceDeletionDiscoveryFailure"),
        *("NamespaceDeletionGroupVersionParsingFailure", "NamespaceContentRemaining"),
        *("NamespaceFinalizersRemaining", "ModifyVolumeError", "ControllerResizeError", "NodeResizeError"),
        *("FileSystemResizePending", "FailureTarget", "Fallback"),
    }
)
# Bad states whose absence is normal, and which are no failure if they are there.
_GOOD_IF_FALSE = frozenset({"ScalingLimited"})
# Reasons of conditions that are not met although nothing is wrong, or that only repeat the condition.
_EXPECTED = frozenset(
    {
        *("PodCompleted", "Completed", "Suspended", "Paused", "DeploymentPaused", "Disabled"),
        *("ScalingDisabled", "PodInitializing", "ContainersNotReady", "ContainersNotInitialized"),
    }
)
# Endings of the reasons with which controllers report that they could not do what the spec asks for.
FAILED_REASONS = ("Error", "Failed", "Failing", "Failure")
_BAD_PHASES = frozenset(
    {
        *("failed", "error", "errored", "degraded", "lost", "invalid", "denied", "expired", "unhealthy"),
        *("unavailable", "rejected", "installfailed", "upgradefailed"),
    }
)
_PHASES = ("phase", "state")
_GROUPS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
# Reasons of a container that is starting normally.
STARTING = frozenset({"ContainerCreating", "PodInitializing"})
_MAX_DEPTH = 5


class ObjectState(msgspec.Struct, frozen=True, kw_only=True):
    """One problem in the status of a live object; its text is at `pointer`.

    `quoted`: the text is a container's termination message, written by the program in it. `is_vague`: it may
    report something else than a problem.
    """

    manifest: Manifest
    symptom: SymptomId
    text: str
    reason: str
    pointer: str
    quoted: bool = False
    is_vague: bool = False


# Conditions that Argo CD's health checks of built-in kinds do not read.
_BEHIND_HEALTHY = frozenset(
    {
        *("ControllerResizeError", "FileSystemResizePending", "ModifyVolumeError", "NodeResizeError"),
        *("NonStructuralSchema", "ReplicaFailure", "Fallback"),
    }
)


def object_states_of(case: Case) -> Iterator[ObjectState]:
    seen: set[Key] = set()
    for named in (*case.app.status.resources, *case.results):
        live = case.live_of(named.key)
        if live is None or live.key in seen:
            continue
        if not live.status and not case.owned_by(live.ref):
            continue  # most objects of a fleet; their health does not matter
        if not _is_healthy(case, live):
            yield from _below(case, live, seen, is_unhealthy=is_reported_unhealthy(case, live))
        else:
            yield from _behind_healthy(live)


def _behind_healthy(live: Manifest) -> Iterator[ObjectState]:
    """Failures of its last change: a health check that finds `Ready` first does not read them."""
    for state in _conditions(live, is_unhealthy=False):
        of_kind = state.symptom.detail in _BEHIND_HEALTHY
        if of_kind or (state.reason.endswith(FAILED_REASONS) and not is_builtin(live.ref)):
            yield state


def _is_healthy(case: Case, live: Manifest) -> bool:
    """Does Argo CD's health check report Healthy? False if it has none."""
    if is_reported_unhealthy(case, live):
        return False
    verdict = case.health_of(live)
    return verdict is not None and verdict.code == "Healthy"


def _below(
    case: Case, manifest: Manifest, seen: set[Key], depth: int = 0, *, is_unhealthy: bool
) -> Iterator[ObjectState]:
    if manifest.key in seen:
        return
    seen.add(manifest.key)
    if manifest.status:
        known = (*_conditions(manifest, is_unhealthy=is_unhealthy), *_phase(manifest))
        yield from known
        is_unchecked = case.health_of(manifest) is None
        yield from _reported(manifest, {state.pointer for state in known}, is_unchecked=is_unchecked)
        yield from _containers(manifest)
    if depth < _MAX_DEPTH:
        for child in case.owned_by(manifest.ref):
            yield from _below(case, child, seen, depth + 1, is_unhealthy=is_unhealthy)


def _conditions(manifest: Manifest, *, is_unhealthy: bool) -> Iterator[ObjectState]:
    for index, raw in enumerate(items(manifest.status.get("conditions"))):
        condition = fields(raw)
        type, status = text(condition.get("type")), text(condition.get("status"))
        bad = (type in _BAD_IF_FALSE and status == "False") or (type in _BAD_IF_TRUE and status == "True")
        bad = bad or _is_unmet(condition, is_unhealthy=is_unhealthy)
        if type == "Progressing" and not is_builtin(manifest.ref):
            bad = bad and is_progress_failed(condition)
        if bad and text(condition.get("reason")) not in _EXPECTED:
            yield from _state(manifest, condition, type, f"/status/conditions/{index}")


def _is_unmet(condition: Object, *, is_unhealthy: bool) -> bool:
    """Does a condition whose type or status does not say so have a message about why it is not met?

    A type that is not known may name a good or a bad state, so it counts only for an unhealthy object.
    """
    type, status = text(condition.get("type")), text(condition.get("status"))
    message = text(condition.get("message"))
    if type in _BAD_IF_TRUE | _GOOD_IF_FALSE or not message or reports_progress(message):
        return False
    return (status == "False" and is_unhealthy) or (status == "Unknown" and type in _BAD_IF_FALSE)


def _phase(manifest: Manifest) -> Iterator[ObjectState]:
    phase = next((text(manifest.status.get(name)) for name in _PHASES if manifest.status.get(name)), "")
    if phase.lower() in _BAD_PHASES:
        yield from _state(manifest, manifest.status, phase, "/status")


def _reported(manifest: Manifest, known: set[str], *, is_unchecked: bool) -> Iterator[ObjectState]:
    """What the status of a custom resource reports in conditions and fields that only its kind has.

    `is_unchecked`: Argo CD has no health check for it.
    """
    if is_builtin(manifest.ref):
        return
    vague = unrecognized_states(manifest) if is_unchecked else ()
    for failure, is_vague in (
        *((failure, False) for failure in status_failures(manifest)),
        *((failure, True) for failure in vague),
    ):
        if failure.pointer not in known:
            known.add(failure.pointer)
            yield ObjectState(
                manifest=manifest,
                symptom=SymptomId(SymptomKind.STATE, manifest.key, detail=failure.name),
                text=failure.text,
                reason=failure.reason,
                pointer=failure.pointer,
                is_vague=is_vague,
            )


def _containers(pod: Manifest) -> Iterator[ObjectState]:
    for group in _GROUPS if pod.ref.kind == "Pod" else ():
        for index, raw in enumerate(items(pod.status.get(group))):
            status = fields(raw)
            for run in ("state", "lastState"):
                for state_name, state in fields(status.get(run)).items():
                    if _is_problem(
                        state_name, fields(state), is_up=run == "lastState" and status.get("ready") is True
                    ):
                        pointer = f"/status/{group}/{index}/{run}/{state_name}"
                        name = text(status.get("name"))
                        yield from _state(pod, _with_exit_code(fields(state), name), f"{name} {run}", pointer)


def _is_problem(state_name: str, state: Object, *, is_up: bool) -> bool:
    if is_up:
        return False  # it was restarted and is ready
    if state_name == "waiting":
        return text(state.get("reason")) not in STARTING
    return state_name == "terminated" and bool(integer(state.get("exitCode")) or state.get("message"))


def _with_exit_code(state: Object, name: str) -> Object:
    """Add the exit code if the reason is only `Error`."""
    code = integer(state.get("exitCode"))
    if not code or text(state.get("reason")) not in ("", "Error"):
        return state
    return {**state, "reason": f"container {name} failed with exit code {code}"}


def _state(manifest: Manifest, report: Object, detail: str, pointer: str) -> Iterator[ObjectState]:
    """Only states with a reason or message: a bare `Ready: False` adds nothing to the health."""
    reason, message = text(report.get("reason")), text(report.get("message"))
    if reason or message:
        yield ObjectState(
            manifest=manifest,
            symptom=SymptomId(SymptomKind.STATE, manifest.key, detail=detail),
            text=message or reason,
            reason=reason,
            pointer=f"{pointer}/message" if message else f"{pointer}/reason",
            quoted=bool(message) and pointer.endswith("/terminated"),
        )
