"""The reason why an object is not ready: its events, conditions, status and containers.

Conditions and phases are read as kstatus reads them, which works for unknown kinds too: `Ready=False`,
`Stalled=True` and `phase: Failed` mean the same for every kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import HealthCode
from whysync.diagnosis.current_health import is_reported_unhealthy
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.status_failures import status_failures
from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join, split
from whysync.kubernetes.api.ref import Ref
from whysync.messages.benign import is_benign

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# Condition types that summarize an object: False, or Unknown with a message, means that it is not ready.
_SUMMARIES = frozenset(
    {
        "Ready",
        "Available",
        "Healthy",
        "Synced",
        "Succeeded",
        "Reconciled",
        "Established",
        "Accepted",
        "Programmed",
        "ResolvedRefs",
        "Valid",
        "ScalingActive",
        "AbleToScale",
        "PodScheduled",
        "Schedulable",
        "Admitted",
        "Deployed",
        "Released",
    }
)
# Parts of condition types for which True is the failure.
_FAILURES = (
    "fail",
    "error",
    "degraded",
    "stalled",
    "invalid",
    "denied",
    "blocked",
    "conflict",
    "unhealthy",
    "violation",
    "remaining",
    "disruptiontarget",
    "nonstructural",
)
# Types whose False is normal: work that has not started, or not finished.
_NEUTRAL = (
    "progress",
    "reconciling",
    "issuing",
    "updating",
    "upgrad",
    "suspend",
    "pause",
    "complete",
    "deletion",
    "deleting",
    "resiz",
    "limited",
    "active",
    "scheduled",
    "initialized",
    "containersready",
    "readytostart",
)
_FAILED_REASONS = ("DeadlineExceeded", "Failed", "Error", "Failure")
_PHASES = ("phase", "state", "currentState", "assemblyStatus")
_GOOD_PHASES = frozenset(
    {
        "",
        "active",
        "approved",
        "available",
        "bound",
        "complete",
        "completed",
        "created",
        "deployed",
        "done",
        "enabled",
        "established",
        "healthy",
        "online",
        "ok",
        "ready",
        "reconciled",
        "running",
        "succeeded",
        "successful",
        "synced",
        "valid",
    }
)
_BAD_PHASES = frozenset(
    {"failed", "error", "errored", "degraded", "unhealthy", "invalid", "rejected", "lost", "inconclusive"}
)
_ERRORS = ("error", "errorMessage", "lastError", "failureMessage", "failureReason", "lastErrorMessage")
_MOST_ENTRIES = 100
_MOST_TEXT = 300
# Messages that only repeat the condition: `Cluster Is Not Ready`.
_NO_DETAIL = re.compile(r"(?i)(?:the )?[\w/-]{1,80} (?:is )?not (?:yet )?(?:ready|available|healthy)\.?")
# Events that only repeat that something failed before.
_REPEATS = frozenset({"BackOff", "BackoffLimitExceeded"})


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A text in which an object reports why it is not ready. `rank` is lower for a bare code.

    Of two texts of one rank, an error that wraps another one (`creating X: denied`) says more than a summary,
    and then the longer one does.
    """

    text: str
    evidence: Evidence
    rank: int = 2

    @property
    def weight(self) -> tuple[int, bool, int]:
        return self.rank, ": " in self.text, min(len(self.text), _MOST_TEXT)

    @property
    def is_nested(self) -> bool:
        """Is it about a part of the object: a node of a Workflow, a parent of a route?"""
        parts = split(self.evidence.pointer)
        return parts[:1] == ("status",) and len(parts) > 3 and parts[1] != "conditions"


def reason_of(case: Case, ref: Ref, manifest: Manifest | None) -> Reason | None:
    """The most specific reason that an object reports; `None` for one that is ready or reports nothing."""
    if manifest is None:
        return warning_of(case, ref)
    if is_ready(case, manifest):
        return None
    candidates = [
        *_warnings(case, ref),
        *_conditions(manifest),
        *_status(manifest),
        *_entries(manifest),
        *_reported(manifest),
        *_containers(manifest),
        *_deletion(manifest),
    ]
    return max(candidates, key=_weight, default=None)


def warning_of(case: Case, ref: Ref) -> Reason | None:
    """The most specific Warning about an object, also if nothing shows that it is not ready."""
    return max(_warnings(case, ref), key=_weight, default=None)


def _weight(reason: Reason) -> tuple[int, bool, int]:
    return reason.weight


def is_ready(case: Case, manifest: Manifest) -> bool:
    """Argo CD's health; for a kind without a health check, its conditions and phase."""
    if manifest.meta.get("deletionTimestamp") or is_reported_unhealthy(case, manifest):
        return False
    verdict = case.health_of(manifest)
    if verdict is not None and verdict.code:
        return verdict.code == HealthCode.HEALTHY
    phase = _phase(manifest.status)
    unfinished = phase is not None and not _is_good(text(manifest.status.get(phase)))
    return not unfinished and not any((*_conditions(manifest), *_status(manifest), *_reported(manifest)))


def failing_conditions(manifest: Manifest) -> Iterator[tuple[int, Object]]:
    """The conditions that report a failure, with their index."""
    for index, raw in enumerate(items(manifest.status.get("conditions"))):
        condition = fields(raw)
        if _is_failing(condition):
            yield index, condition


def _is_failing(condition: Object) -> bool:
    kind, status = text(condition.get("type")), text(condition.get("status"))
    if text(condition.get("severity")) == "Info":
        return False
    if kind in _SUMMARIES:
        return status == "False" or (status == "Unknown" and bool(condition.get("message")))
    name = kind.lower()
    if any(part in name for part in _FAILURES):
        return status == "True"
    if any(part in name for part in _NEUTRAL):
        return status == "False" and text(condition.get("reason")).endswith(_FAILED_REASONS)
    return status == "False" and bool(condition.get("message"))


def _warnings(case: Case, ref: Ref) -> Iterator[Reason]:
    """Newest first, so that of two texts of one length the newer one counts."""
    for manifest, event in reversed(case.events_about(ref)):
        if event.type != "Warning" or not event.says or is_benign(event.says):
            continue
        pointer = "/message" if event.message else "/note"
        yield Reason(
            text=event.says,
            evidence=cite(manifest, pointer, says=f"event of {ref}"),
            rank=0 if event.reason in _REPEATS else 2,
        )


def _conditions(manifest: Manifest) -> Iterator[Reason]:
    for index, condition in failing_conditions(manifest):
        if manifest.ref.kind == "Pod" and text(condition.get("reason")) == "ContainersNotReady":
            continue  # the containers have more detail
        message, code = text(condition.get("message")), text(condition.get("reason"))
        state = f"{text(condition.get('type'))} is {text(condition.get('status'))}"
        yield Reason(
            text=message or code or state,
            evidence=cite(manifest, f"/status/conditions/{index}", says=f"condition {state}"),
            rank=2 if message and not _NO_DETAIL.fullmatch(message) else 1,
        )


def _status(manifest: Manifest) -> Iterator[Reason]:
    """`status.phase` (or `state`) that is not a good one, with the reason and message next to it."""
    status = manifest.status
    for name in _ERRORS:
        if text(status.get(name)):
            yield Reason(text=text(status.get(name)), evidence=cite(manifest, f"/status/{name}", says=name))
    for name, value in status.items():
        inner = text(fields(value).get("message")) if name.endswith("Error") else ""
        if inner:  # `attachError` of a VolumeAttachment, and fields like it
            yield Reason(text=inner, evidence=cite(manifest, f"/status/{name}/message", says=name))
    phase = _phase(status)
    if phase is None or _is_good(text(status.get(phase))):
        return
    message, code = text(status.get("message")), text(status.get("reason"))
    if not message and not code and text(status.get(phase)).lower() not in _BAD_PHASES:
        return  # Pending, Creating: in progress
    words = f"{code}: {message}" if message and code else message or code
    pointer = "message" if message else "reason" if code else phase
    yield Reason(
        text=words or f"{phase} is {text(status.get(phase))}",
        evidence=cite(manifest, f"/status/{pointer}", says=f"{phase} {text(status.get(phase))}"),
        rank=2 if words else 1,
    )


def _phase(status: Object) -> str | None:
    return next((name for name in _PHASES if isinstance(status.get(name), str)), None)


def _is_good(phase: str) -> bool:
    return phase.lower() in _GOOD_PHASES


def _entries(manifest: Manifest) -> Iterator[Reason]:
    """Failed entries of lists and maps in the status: metrics of an AnalysisRun, nodes of a Workflow."""
    for path, entry in _parts(manifest.status, ("status",), 0):
        phase = _phase(entry)
        message = text(entry.get("message"))
        if message and phase is not None and text(entry.get(phase)).lower() in _BAD_PHASES:
            name = text(entry.get("displayName")) or text(entry.get("name"))
            yield Reason(
                text=f"{name}: {message}" if name else message,
                evidence=cite(manifest, join((*path, "message")), says=f"{phase} {text(entry.get(phase))}"),
            )


def _reported(manifest: Manifest) -> Iterator[Reason]:
    """What the status of a custom resource reports in places that only its kind has."""
    for failure in () if is_builtin(manifest.ref) else status_failures(manifest):
        yield Reason(
            text=failure.text,
            evidence=cite(manifest, failure.pointer, says=failure.name),
            rank=1
            if failure.text in (failure.name, failure.reason) or _NO_DETAIL.fullmatch(failure.text)
            else 2,
        )


def _parts(value: Json, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Object]]:
    """The objects inside lists and maps, not too deep."""
    if depth > 4:
        return
    pairs = (
        list(value.items())
        if isinstance(value, dict)
        else [(str(index), inner) for index, inner in enumerate(value)]
        if isinstance(value, list)
        else []
    )
    for key, inner in pairs[:_MOST_ENTRIES]:
        if depth == 0 and key == "conditions":
            continue
        if isinstance(inner, dict):
            yield (*path, key), inner
        yield from _parts(inner, (*path, key), depth + 1)


def _containers(manifest: Manifest) -> Iterator[Reason]:
    """Why containers of a Pod wait, or how they exited."""
    if manifest.ref.kind != "Pod":
        return
    for group in ("initContainerStatuses", "containerStatuses"):
        for index, raw in enumerate(items(manifest.status.get(group))):
            status = fields(raw)
            state, last = fields(status.get("state")), fields(status.get("lastState"))
            for place, ended in (("state", state), ("lastState", last)):
                yield from _ended(manifest, f"/status/{group}/{index}/{place}", status, ended)
            waiting = fields(state.get("waiting"))
            code, message = text(waiting.get("reason")), text(waiting.get("message"))
            if message or code not in ("", "ContainerCreating", "PodInitializing"):
                yield Reason(
                    text=f"container {text(status.get('name'))}: {message or code}",
                    evidence=cite(
                        manifest, f"/status/{group}/{index}/state/waiting", says="state of a container"
                    ),
                    rank=1 if message and code not in ("CrashLoopBackOff", "ImagePullBackOff") else 0,
                )


def _ended(manifest: Manifest, pointer: str, status: Object, state: Object) -> Iterator[Reason]:
    ended = fields(state.get("terminated"))
    if not ended or integer(ended.get("exitCode")) == 0:
        return
    message, code = text(ended.get("message")), text(ended.get("reason"))
    how = f"exited with code {integer(ended.get('exitCode'))}" + (
        f" ({code})" if code not in ("", "Error") else ""
    )
    yield Reason(
        text=f"container {text(status.get('name'))} {how}" + (f": {message}" if message else ""),
        evidence=cite(manifest, f"{pointer}/terminated", says="how the container exited"),
        rank=2 if message else 1,
    )


def _deletion(manifest: Manifest) -> Iterator[Reason]:
    finalizers = [text(name) for name in items(manifest.meta.get("finalizers"))]
    if manifest.meta.get("deletionTimestamp") and finalizers:
        yield Reason(
            text=f"it is being deleted, and finalizer {', '.join(finalizers)} has not been removed",
            evidence=cite(manifest, "/metadata/finalizers", says="finalizers that remain"),
            rank=1,
        )
