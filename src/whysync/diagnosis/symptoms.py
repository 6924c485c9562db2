"""Reads the symptoms of a Case: conditions, the operation, rows, health, Git heads, events, states, logs.

Nothing is guessed here. A symptom that only repeats another one says so (`because`), so that explaining
the other explains it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import OperationState, ResourceRow
from whysync.diagnosis.freshness import (
    failing_application_set,
    never_reconciled,
    overdue,
    skips_reconcile,
    sync_loop_of,
)
from whysync.diagnosis.owning_resource import owning_row
from whysync.diagnosis.reported_texts import FAILED_PHASES, ReportedText, is_failed
from whysync.diagnosis.symptom import (
    APP_DIFFERS,
    APP_UNHEALTHY,
    APPLICATION_SET_FAILED,
    DELETION,
    HYDRATION,
    NEVER_RECONCILED,
    NO_CONDITION,
    OPERATION,
    OVERDUE,
    RECONCILIATION_SKIPPED,
    SIDE_OF_KIND,
    SYNC_LOOP,
    Side,
    Symptom,
    SymptomId,
    SymptomKind,
)
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.log_line import parse_log_line
from whysync.messages.parse import understand
from whysync.messages.patterns.operations import PruneSkipped
from whysync.messages.patterns.projects import ArgocdDenied

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# Conditions that do not speak of comparing.
_SIDE_OF_CONDITION = {
    "SyncError": Side.APPLY,
    "DeletionError": Side.APPLY,
    "SharedResourceWarning": Side.DRIFT,
    "RepeatedResourceWarning": Side.DRIFT,
    "ExcludedResourceWarning": Side.DRIFT,
    "OrphanedResourceWarning": Side.DRIFT,
}
# For so long an event about an object that nobody can look at is taken for news.
_NEWS = timedelta(minutes=15)
# Deleting all that belongs to an app takes minutes; Pods are given 30 seconds, volumes somewhat more.
_LONG_DELETION = timedelta(minutes=10)
_BEFORE_THE_START = frozenset(
    {"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "FailedMapVolume"}
)
_QUIET_HEALTH = frozenset({"", "Healthy", "Missing"})


def symptoms_of(case: Case) -> tuple[Symptom, ...]:
    symptoms = {symptom.id: symptom for symptom in _without_texts(case)}
    for spoken in case.reported_texts:
        if spoken.symptom not in symptoms and (symptom := _reported(case, spoken)) is not None:
            symptoms[symptom.id] = symptom
    understood = {spoken.symptom for spoken in case.reported_texts if spoken.is_understood}
    for spoken in case.reported_texts:
        symptom = symptoms.get(spoken.symptom)
        if symptom is not None and spoken.is_unread and symptom.id not in understood:
            symptoms[symptom.id] = msgspec.structs.replace(symptom, raw=spoken.text.strip(), unread=True)
    return tuple(symptoms.values())


def _without_texts(case: Case) -> Iterator[Symptom]:
    """What the fields of the Application show, whatever their texts say."""
    yield from (
        *_conditions(case),
        *_hydration(case),
        *_operation(case),
        *_results(case),
        *_deletion(case),
        *_rows(case),
        *_health(case),
        *_behind(case),
        *_stale(case),
    )


def _symptom(
    id: SymptomId,
    text: str,
    *,
    ref: Ref | None = None,
    because: tuple[SymptomId, ...] = (),
    side: Side | None = None,
) -> Symptom:
    return Symptom(id=id, text=text, ref=ref, because=because, side=side or SIDE_OF_KIND[id.kind])


def _conditions(case: Case) -> Iterator[Symptom]:
    operation = case.operation
    for index, condition in enumerate(case.app.status.conditions):
        echoes = (
            operation is not None
            and bool(operation.message)
            and condition.type == "SyncError"
            and operation.message in condition.message
        )
        yield _symptom(
            SymptomId.condition(condition.type, index),
            f"{condition.type}: {condition.message}",
            side=_SIDE_OF_CONDITION.get(condition.type, Side.COMPARE),
            because=(OPERATION,) if echoes else (),
        )
    errors = [c for c in case.app.status.conditions if c.type.endswith("Error")]
    if case.app.status.sync.status == "Unknown" and not errors:
        yield _symptom(NO_CONDITION, "sync status is Unknown, and no condition says why")


def _hydration(case: Case) -> Iterator[Symptom]:
    """The hydrator writes how it went into a field of its own, and no condition."""
    hydrator = case.app.status.source_hydrator
    last = hydrator.current_operation if hydrator is not None else None
    if last is not None and last.phase == "Failed":
        yield _symptom(
            HYDRATION,
            f"hydration Failed: {last.message}".rstrip(": "),
            side=Side.COMPARE,
        )


def _deletion(case: Case) -> Iterator[Symptom]:
    """An Application that is being deleted and still there: no condition says so."""
    age = case.being_deleted_for
    if age is not None and age >= _LONG_DELETION:
        yield _symptom(
            DELETION,
            "the Application is being deleted, and stays",
            because=tuple(symptom.id for symptom in _conditions(case)),
        )


def _operation(case: Case) -> Iterator[Symptom]:
    operation = case.operation
    if operation is None or operation.phase in ("", "Succeeded"):
        return
    because = tuple(symptom.id for symptom in _results(case))
    if operation.phase in FAILED_PHASES and _is_comparison_error(case, operation):
        because = (*because, *(s.id for s in _conditions(case) if s.side is Side.COMPARE))
    yield _symptom(
        OPERATION,
        f"operation {operation.phase}: {operation.message}"
        if operation.message
        else f"operation {operation.phase}",
        because=because,
    )


def _is_comparison_error(case: Case, operation: OperationState) -> bool:
    return any(c.message and c.message in operation.message for c in case.app.status.conditions)


def _results(case: Case) -> Iterator[Symptom]:
    for result in case.results:
        if is_failed(result.status, result.hook_phase):
            ref = case.as_in_row(result.ref)
            yield _symptom(
                SymptomId.result(result.key),
                f"{ref} {result.hook_phase or result.status}: {result.message}".rstrip(": "),
                ref=ref,
            )


def _rows(case: Case) -> Iterator[Symptom]:
    """A row that a failed or running sync has not reached yet is the echo of that sync."""
    held_up = (OPERATION,) if _sync_is_open(case) else ()
    out_of_sync = [row for row in case.app.status.resources if row.status == "OutOfSync"]
    told = {drift.key for drift in case.drifts}
    for drift in case.drifts:
        yield _symptom(
            SymptomId.differs(drift.key, drift.pointer),
            f"{drift.ref} differs at {drift.pointer}",
            ref=drift.ref,
            because=held_up,
        )
    for row in out_of_sync:
        if needs_pruning(case, row):
            yield _symptom(SymptomId.extra(row.key), f"{row.ref} is not in Git any more", ref=row.ref)
        elif is_gone(case, row):
            yield _symptom(
                SymptomId.missing(row.key),
                f"{row.ref} is declared and not in the cluster",
                ref=row.ref,
                because=held_up,
            )
        elif row.key not in told:
            yield _symptom(
                SymptomId.differs(row.key),
                f"{row.ref} is OutOfSync",
                ref=row.ref,
                because=held_up,
            )
    if case.app.status.sync.status == "OutOfSync" and not out_of_sync:
        yield _symptom(APP_DIFFERS, "the app is OutOfSync, and no resource is", because=held_up)


def needs_pruning(case: Case, row: ResourceRow) -> bool:
    """Argo CD marks the row, or the last sync left the object in place because it did not prune."""
    if row.requires_pruning:
        return True
    skipped = (result for result in case.results if case.as_in_row(result.ref).key == row.key)
    return case.desired_of(row.key) is None and any(
        isinstance(failure, PruneSkipped)
        for result in skipped
        if result.message
        for failure in understand(result.message).failures
    )


def _sync_is_open(case: Case) -> bool:
    """Has the last operation at this very revision not succeeded (yet)?

    One that runs holds up all others, and one that waits for its next try does so too.
    """
    operation = case.operation
    if operation is None or operation.phase == "Succeeded":
        return False
    if operation.phase == "Running":
        return True
    at = operation.sync_result.revision if operation.sync_result else ""
    return not at or at == case.app.status.sync.revision


def is_gone(case: Case, row: ResourceRow) -> bool:
    """Argo CD says so, or: others of its objects are at hand, this one is not."""
    if row.health is not None and row.health.status:
        return row.health.status == "Missing"
    if case.live_of(row.key) is not None or case.desired_of(row.key) is None:
        return False
    return any(case.live_of(other.key) for other in case.app.status.resources if other.key != row.key)


def _health(case: Case) -> Iterator[Symptom]:
    """Since Argo CD 3 a row may come without its health: then it is judged here, as Argo CD would."""
    unhealthy = [(row, *health_of_row(case, row)) for row in case.app.status.resources if not row.hook]
    unhealthy = [(row, code, message) for row, code, message in unhealthy if code not in _QUIET_HEALTH]
    for row, code, message in unhealthy:
        yield _symptom(
            SymptomId.unhealthy(row.key),
            f"{row.ref} is {code}" + (f": {message}" if message else ""),
            ref=row.ref,
        )
    health = case.app.status.health
    if health.status not in _QUIET_HEALTH and not unhealthy:
        because = tuple(s.id for s in _conditions(case)) if health.status == "Unknown" else ()
        yield _symptom(
            APP_UNHEALTHY,
            f"the app is {health.status}" + (f": {health.message}" if health.message else ""),
            because=because,
        )


def health_of_row(case: Case, row: ResourceRow) -> tuple[str, str]:
    """Code and message: Argo CD's own where it gives them."""
    if row.health is not None:
        return row.health.status, row.health.message
    if case.app.status.health.status in ("", "Healthy"):
        return "", ""
    live = case.live_of(row.key)
    verdict = case.health_of(live) if live is not None else None
    return (verdict.code or "", verdict.message) if verdict is not None else ("", "")


def _behind(case: Case) -> Iterator[Symptom]:
    for index, source in enumerate(case.app.sources):
        head = case.head_of(source.repo_url, source.target_revision)
        if head is not None and not case.compared_with(index):
            continue  # it has looked at another repository so far: whose commit is older says nothing
        compared = case.app.revisions[index] if index < len(case.app.revisions) else ""
        # Where rendering fails, Argo CD keeps the branch's name: it has compared with no commit at all.
        unresolved = head is not None and compared == head.revision
        if head is not None and compared and not unresolved and not _same_commit(head.commit, compared):
            yield _symptom(
                SymptomId(SymptomKind.BEHIND, number=index),
                f"{head.revision} is at {head.commit[:8]}, Argo CD compared with {compared[:8]}",
            )


def _stale(case: Case) -> Iterator[Symptom]:
    """Nobody looks at the app, or what makes it is in trouble: the status may be about the past."""
    if skips_reconcile(case):
        yield _symptom(RECONCILIATION_SKIPPED, "reconciling is switched off for this app")
    elif never_reconciled(case) is not None:
        yield _symptom(NEVER_RECONCILED, "nothing has ever looked at this app")
    elif overdue(case) is not None:
        yield _symptom(OVERDUE, "nothing has looked at this app for far longer than usual")
    if failing_application_set(case) is not None:
        yield _symptom(APPLICATION_SET_FAILED, "the ApplicationSet of this app reports an error")
    if sync_loop_of(case) is not None:
        yield _symptom(SYNC_LOOP, "Argo CD syncs one commit again and again, and it does not hold")


def _same_commit(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _reported(case: Case, spoken: ReportedText) -> Symptom | None:
    """The symptom of a text that has none of its own; `None` if the text is history or harmless."""
    failures = spoken.message.failures
    if not failures or is_history(case, spoken):
        return None
    if not spoken.is_understood and not _counts_unread(case, spoken):
        return None
    refused = any(isinstance(failure, ArgocdDenied) for failure in failures)
    words = spoken.text.strip()
    return _symptom(
        spoken.symptom,
        f"{spoken.reason}: {words}" if spoken.reason and spoken.reason not in words else words,
        ref=spoken.ref,
        because=spoken.because,
        side=_side(spoken, refused=refused),
    )


def _side(spoken: ReportedText, *, refused: bool) -> Side | None:
    if refused:
        return Side.APPLY
    return Side.HEALTH if spoken.quoted else None


def _counts_unread(case: Case, spoken: ReportedText) -> bool:
    """A line of a log that names no Application may be about any of them: it counts if there is only one."""
    if spoken.symptom.kind is SymptomKind.RESULT:
        return _result_failed(case, spoken)
    if spoken.symptom.kind is SymptomKind.LOG and spoken.ref is None:
        line = parse_log_line(spoken.text)
        return line.application == case.app.name or len(case.index.decoded) == 1
    return True


def _result_failed(case: Case, spoken: ReportedText) -> bool:
    """Does the entry lack both a status and a phase? Else these say that the resource was applied."""
    return any(
        result.key == spoken.symptom.key and not result.status and not result.hook_phase
        for result in case.results
    )


def is_history(case: Case, spoken: ReportedText) -> bool:
    """Is the problem over? What is live now counts for more than what was reported before."""
    match spoken.symptom.kind:
        case SymptomKind.EVENT:
            return _event_is_over(case, spoken)
        case SymptomKind.RESULT:
            row = case.rows.get(spoken.ref.key) if spoken.ref is not None else None
            return row is None or (row.status == "Synced" and health_of_row(case, row)[0] in _QUIET_HEALTH)
        case _:
            return False


def _event_is_over(case: Case, spoken: ReportedText) -> bool:
    ref = spoken.ref
    if ref is None:
        return True
    live = case.live_named(ref.kind, ref.namespace, ref.name)
    if live is not None and live.ref.kind == "Pod" and _is_past(live, spoken):
        return True
    if live is not None:
        above = owning_row(case, live)
        row = case.rows.get(above.key) if above is not None else None
        if row is not None:  # a ReplicaSet without Pods is content with itself: the row above it tells
            return _is_ready(live) or health_of_row(case, row)[0] == "Healthy"
        return _is_ready(live) or _is_healthy(case, live)
    if ref.kind == "Pod" and any(pod.ref.namespace == ref.namespace for pod in case.live_of_kind("Pod")):
        return True  # the Pods are at hand, and this one is gone
    return _is_fine(case) and not _is_recent(case, spoken)


def _is_past(pod: Manifest, spoken: ReportedText) -> bool:
    """With a node, trouble with scheduling is over; with a first container, that with volumes and network."""
    reason = text(spoken.manifest.body.get("reason")) if spoken.manifest is not None else ""
    if reason == "FailedScheduling":
        return bool(pod.spec.get("nodeName"))
    if reason in _BEFORE_THE_START:
        told = (*items(pod.status.get("initContainerStatuses")), *items(pod.status.get("containerStatuses")))
        return any(fields(one).get("containerID") for one in told)
    return False


def _is_ready(live: Manifest) -> bool:
    conditions = [fields(condition) for condition in items(live.status.get("conditions"))]
    told = [
        condition for condition in conditions if condition.get("type") in ("Ready", "Available", "Complete")
    ]
    return bool(told) and all(one.get("status") == "True" for one in told)


def _is_healthy(case: Case, live: Manifest) -> bool:
    verdict = case.health_of(live)
    return verdict.code == "Healthy" if verdict is not None else _is_fine(case)


def _is_fine(case: Case) -> bool:
    return case.app.status.sync.status == "Synced" and case.app.status.health.status == "Healthy"


def _is_recent(case: Case, spoken: ReportedText) -> bool:
    seen = [event.seen_at for manifest, event in case.index.events if manifest is spoken.manifest]
    age = case.age(seen[0]) if seen else None
    return age is None or age < _NEWS
