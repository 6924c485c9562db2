"""Reads the symptoms of a Case: conditions, the operation, rows, health, Git heads, events, states, logs.

Symptoms are read, not inferred. A symptom that only repeats another one names it in `because`, so that
explaining the other one explains it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import OperationState, ResourceRow
from whysync.argocd.hooks import is_hook, is_ignored
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
    MESSAGE_OF_SUCCESS,
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
from whysync.json_tree import Json, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.log_line import parse_log_line
from whysync.messages.parse import understand
from whysync.messages.patterns.logins import LoginFailed
from whysync.messages.patterns.operations import PruneSkipped
from whysync.messages.patterns.projects import ArgocdDenied

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# Conditions that are not about the comparison.
_SIDE_OF_CONDITION = {
    "SyncError": Side.APPLY,
    "DeletionError": Side.APPLY,
    "SharedResourceWarning": Side.DRIFT,
    "RepeatedResourceWarning": Side.DRIFT,
    "ExcludedResourceWarning": Side.DRIFT,
    "OrphanedResourceWarning": Side.DRIFT,
}
# An event about an object that is not available counts as current for this long.
_RECENT_EVENT = timedelta(minutes=15)
# Deleting the resources of an app takes minutes; Pods have 30 seconds, volumes a little more.
_LONG_DELETION = timedelta(minutes=10)
_KEPT_DELETION = timedelta(minutes=5)
_BEFORE_CONTAINER_START = frozenset(
    {"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "FailedMapVolume"}
)
_GOOD_CONDITIONS = frozenset({"Available", "Complete", "ContainersReady", "Progressing", "Ready"})
_NO_HEALTH_SYMPTOM = frozenset({"", "Healthy", "Missing"})


def symptoms_of(case: Case) -> tuple[Symptom, ...]:
    symptoms = {symptom.id: symptom for symptom in _status_symptoms(case)}
    for reported in case.reported_texts:
        if reported.symptom not in symptoms and (symptom := _reported(case, reported)) is not None:
            symptoms[symptom.id] = symptom
    understood = {reported.symptom for reported in case.reported_texts if reported.is_understood}
    for reported in case.reported_texts:
        symptom = symptoms.get(reported.symptom)
        if symptom is not None and reported.is_unread and symptom.id not in understood:
            raw = reported.text.strip()
            words = symptom.text if raw in symptom.text else f"{symptom.text}: {raw}"
            symptoms[symptom.id] = msgspec.structs.replace(symptom, text=words, raw=raw, unread=True)
        elif symptom is not None and symptom.id.kind is SymptomKind.EVENT and not reported.is_exact:
            symptoms[symptom.id] = msgspec.structs.replace(symptom, raw=reported.text.strip())
    return tuple(symptoms.values())


def _status_symptoms(case: Case) -> Iterator[Symptom]:
    """Symptoms from the fields of the Application, independent of their messages."""
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
        yield _symptom(NO_CONDITION, "sync status is Unknown, but no condition reports why")


def _hydration(case: Case) -> Iterator[Symptom]:
    """The hydrator reports its result in a status field, not in a condition."""
    hydrator = case.app.status.source_hydrator
    last = hydrator.current_operation if hydrator is not None else None
    if last is not None and last.phase == "Failed":
        yield _symptom(
            HYDRATION,
            f"hydration Failed: {last.message}".rstrip(": "),
            side=Side.COMPARE,
        )


def _deletion(case: Case) -> Iterator[Symptom]:
    """An Application that has been terminating for too long, which no condition reports.

    That is sooner if a finalizer keeps one of its resources.
    """
    age = case.being_deleted_for
    if age is not None and (age >= _LONG_DELETION or (age >= _KEPT_DELETION and _keeps_a_resource(case))):
        yield _symptom(
            DELETION,
            "the Application is being deleted, but the deletion does not complete",
            because=tuple(symptom.id for symptom in _conditions(case)),
        )


def _keeps_a_resource(case: Case) -> bool:
    objects = (case.live_of(row.key) for row in case.app.status.resources)
    return any(
        live and live.meta.get("deletionTimestamp") and live.meta.get("finalizers") for live in objects
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
    """Differences of resources; while a sync runs or has failed, they follow from that sync."""
    if case.app.metadata.deletion_timestamp is not None:
        return  # the deletion removes the resources: they are expected to be missing
    because_of_sync = (OPERATION,) if _sync_is_open(case) else ()
    out_of_sync = [row for row in case.app.status.resources if row.status == "OutOfSync"]
    with_drifts = {drift.key for drift in case.drifts}
    for drift in case.drifts:
        yield _symptom(
            SymptomId.differs(drift.key, drift.pointer),
            f"{drift.ref} differs at {drift.pointer}",
            ref=drift.ref,
            because=because_of_sync,
        )
    for row in out_of_sync:
        if needs_pruning(case, row):
            yield _symptom(SymptomId.extra(row.key), f"{row.ref} is no longer in Git", ref=row.ref)
        elif is_gone(case, row):
            yield _symptom(
                SymptomId.missing(row.key),
                f"{row.ref} is declared but not in the cluster",
                ref=row.ref,
                because=because_of_sync,
            )
        elif row.key not in with_drifts:
            yield _symptom(
                SymptomId.differs(row.key),
                f"{row.ref} is OutOfSync",
                ref=row.ref,
                because=because_of_sync,
            )
    if case.app.status.sync.status == "OutOfSync" and not out_of_sync:
        yield _symptom(APP_DIFFERS, "the app is OutOfSync, but no resource is", because=because_of_sync)


def needs_pruning(case: Case, row: ResourceRow) -> bool:
    """Does the app's status require pruning, or did the last sync skip it because pruning is off?"""
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
    """Has the last operation for the compared revision not succeeded (yet)?

    A running operation, also one that waits for its next retry, blocks all others.
    """
    operation = case.operation
    if operation is None or operation.phase == "Succeeded":
        return False
    if operation.phase == "Running":
        return True
    at = operation.sync_result.revision if operation.sync_result else ""
    return not at or at == case.app.status.sync.revision


def is_gone(case: Case, row: ResourceRow) -> bool:
    """Does Argo CD report it as Missing? Without its health: is it the only one that is not live?"""
    if row.health is not None and row.health.status:
        return row.health.status == "Missing"
    if case.live_of(row.key) is not None or case.desired_of(row.key) is None:
        return False
    return any(case.live_of(other.key) for other in case.app.status.resources if other.key != row.key)


def _health(case: Case) -> Iterator[Symptom]:
    """Since Argo CD 3 the health of a resource may not be in the status: then it is computed as Argo CD
    does."""
    unhealthy = [(row, *health_of_row(case, row)) for row in case.app.status.resources if not row.hook]
    unhealthy = [(row, code, message) for row, code, message in unhealthy if code not in _NO_HEALTH_SYMPTOM]
    for row, code, message in unhealthy:
        yield _symptom(
            SymptomId.unhealthy(row.key),
            f"{row.ref} is {code}" + (f": {message}" if message else ""),
            ref=row.ref,
        )
    health = case.app.status.health
    if health.status not in _NO_HEALTH_SYMPTOM and not unhealthy:
        because = tuple(s.id for s in _conditions(case)) if health.status == "Unknown" else ()
        yield _symptom(
            APP_UNHEALTHY,
            f"the app is {health.status}" + (f": {health.message}" if health.message else ""),
            because=because,
        )


def health_of_row(case: Case, row: ResourceRow) -> tuple[str, str]:
    """The health status and message: from the app's status, or computed."""
    if row.health is not None:
        return row.health.status, row.health.message
    if case.app.status.health.status in ("", "Healthy"):
        return "", ""
    live = case.live_of(row.key)
    if live is not None and (is_hook(live.body) or is_ignored(live.body)):
        return "", ""  # hooks do not count; mirrors setApplicationHealth, Argo CD 3.6
    verdict = case.health_of(live) if live is not None else None
    return (verdict.code or "", verdict.message) if verdict is not None else ("", "")


def _behind(case: Case) -> Iterator[Symptom]:
    for index, source in enumerate(case.app.sources):
        head = case.head_of(source.repo_url, source.target_revision)
        if head is not None and not case.compared_with(index):
            continue  # Argo CD compared another repository, so the commits cannot be compared
        compared = case.app.revisions[index] if index < len(case.app.revisions) else ""
        # If rendering fails, Argo CD keeps the branch name: no commit was compared.
        unresolved = head is not None and compared == head.revision
        if head is not None and compared and not unresolved and not _same_commit(head.commit, compared):
            yield _symptom(
                SymptomId(SymptomKind.BEHIND, number=index),
                f"{head.revision} is at {head.commit[:8]}, but Argo CD compared {compared[:8]}",
            )


def _stale(case: Case) -> Iterator[Symptom]:
    """The app is not reconciled, or its ApplicationSet has an error: its status may be stale."""
    if skips_reconcile(case):
        yield _symptom(RECONCILIATION_SKIPPED, "reconciliation is disabled for this app")
    elif never_reconciled(case) is not None:
        yield _symptom(NEVER_RECONCILED, "this app has never been reconciled")
    elif overdue(case) is not None:
        yield _symptom(OVERDUE, "this app has not been reconciled for much longer than the interval")
    if failing_application_set(case) is not None:
        yield _symptom(APPLICATION_SET_FAILED, "the ApplicationSet of this app reports an error")
    if sync_loop_of(case) is not None:
        yield _symptom(SYNC_LOOP, "Argo CD syncs the same commit in a loop")


def _same_commit(first: str, second: str) -> bool:
    return first.startswith(second) or second.startswith(first)


def _reported(case: Case, reported: ReportedText) -> Symptom | None:
    """The symptom of a text without one of its own; `None` if the text is outdated or harmless."""
    failures = reported.message.failures
    if not failures or is_history(case, reported):
        return None
    if not reported.is_understood and not _counts_unread(case, reported):
        return None
    if all(isinstance(failure, LoginFailed) for failure in failures) and not _is_of_only_app(case, reported):
        return None  # the request of a user, which may be about any app
    is_denied = any(isinstance(failure, ArgocdDenied) for failure in failures)
    text_shown = reported.text.strip()
    return _symptom(
        reported.symptom,
        f"{reported.reason}: {text_shown}"
        if reported.reason and reported.reason not in text_shown
        else text_shown,
        ref=reported.ref,
        because=reported.because,
        side=_side(reported, is_denied=is_denied),
    )


def _side(reported: ReportedText, *, is_denied: bool) -> Side | None:
    if is_denied:
        return Side.APPLY
    return Side.HEALTH if reported.quoted else None


def _counts_unread(case: Case, reported: ReportedText) -> bool:
    """Does an unrecognized text count? A log line without an Application counts if there is only one app."""
    if reported.symptom.kind is SymptomKind.RESULT:
        return not _is_applied(case, reported)
    if reported.log is not None and reported.ref is None:
        return _is_of_only_app(case, reported)
    return True


def _is_of_only_app(case: Case, reported: ReportedText) -> bool:
    """Does the line name the app, or are there no other apps that it can be about?"""
    return parse_log_line(reported.text).application == case.app.name or len(case.index.decoded) == 1


def _is_applied(case: Case, reported: ReportedText) -> bool:
    """Has the task succeeded? Its message is then the health message of an object that is Healthy."""
    return any(
        result.key == reported.symptom.key
        and result.message == reported.text
        and result.hook_phase == "Succeeded"
        and result.status != "SyncFailed"
        for result in case.results
    )


def is_history(case: Case, reported: ReportedText) -> bool:
    """Is the problem over? The live state takes precedence over earlier reports."""
    match reported.symptom.kind:
        case SymptomKind.EVENT:
            return _event_is_over(case, reported)
        case SymptomKind.RESULT if reported.is_understood:
            row = case.rows.get(reported.ref.key) if reported.ref is not None else None
            return row is None or (
                row.status == "Synced" and health_of_row(case, row)[0] in _NO_HEALTH_SYMPTOM
            )
        case SymptomKind.LOG:
            return reported.symptom == MESSAGE_OF_SUCCESS and reported.is_understood
        case _:
            return False


def _event_is_over(case: Case, reported: ReportedText) -> bool:
    ref = reported.ref
    if ref is None:
        return True
    if case.is_application(ref):
        return _was_synced_since(case, reported)
    live = case.live_named(ref.kind, ref.namespace, ref.name)
    if live is not None and live.ref.kind == "Pod" and _is_outdated(live, reported):
        return True
    if live is not None:
        owner = owning_row(case, live)
        row = case.rows.get(owner.key) if owner is not None else None
        if row is not None:  # a ReplicaSet without Pods is healthy itself: the owning resource decides
            is_healthy = _is_ready(live) or health_of_row(case, row)[0] == "Healthy"
        else:
            is_healthy = _is_ready(live) or _is_healthy(case, live)
        if not is_healthy or reported.is_exact:
            return is_healthy  # what an object that works now reported before is over
        objects = (live, case.live_of(row.key) if row is not None else None)
        return not _is_recent(case, reported) or any(_is_good_since(o, case, reported) for o in objects if o)
    if ref.kind == "Pod" and any(pod.ref.namespace == ref.namespace for pod in case.live_of_kind("Pod")):
        return True  # the Pods are available, and this one no longer exists
    return _is_fine(case) and not _is_recent(case, reported)


def _is_outdated(pod: Manifest, reported: ReportedText) -> bool:
    """A scheduled Pod has no scheduling problem; one with a started container has no volume or network
    problem."""
    reason = text(reported.manifest.body.get("reason")) if reported.manifest is not None else ""
    if reason == "FailedScheduling":
        return bool(pod.spec.get("nodeName"))
    if reason in _BEFORE_CONTAINER_START:
        relevant = (
            *items(pod.status.get("initContainerStatuses")),
            *items(pod.status.get("containerStatuses")),
        )
        return any(fields(status).get("containerID") for status in relevant)
    return False


def _was_synced_since(case: Case, reported: ReportedText) -> bool:
    """Has the app been synced since the event about it? Its own status also repeats the errors of a sync."""
    operation, seen = case.operation, _seen_at(case, reported)
    if operation is None:
        return not _is_recent(case, reported)
    if operation.message and operation.message in reported.text:
        return True
    is_older = seen is not None and operation.finished_at is not None and seen <= operation.finished_at
    return (operation.phase == "Succeeded" and is_older) or not _is_recent(case, reported)


def _is_good_since(live: Manifest, case: Case, reported: ReportedText) -> bool:
    """Has a good condition been confirmed since the event?"""
    seen = _seen_at(case, reported)
    conditions = [fields(raw) for raw in items(live.status.get("conditions"))]
    times = (
        _instant(condition.get(name))
        for condition in conditions
        if condition.get("status") == "True" and condition.get("type") in _GOOD_CONDITIONS
        for name in ("lastTransitionTime", "lastUpdateTime")
    )
    return seen is not None and any(time is not None and time >= seen for time in times)


def _instant(value: Json) -> datetime | None:
    try:
        time = datetime.fromisoformat(text(value))
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


def _is_ready(live: Manifest) -> bool:
    conditions = [fields(condition) for condition in items(live.status.get("conditions"))]
    relevant = [
        condition for condition in conditions if condition.get("type") in ("Ready", "Available", "Complete")
    ]
    return bool(relevant) and all(condition.get("status") == "True" for condition in relevant)


def _is_healthy(case: Case, live: Manifest) -> bool:
    verdict = case.health_of(live)
    return verdict.code == "Healthy" if verdict is not None else _is_fine(case)


def _is_fine(case: Case) -> bool:
    return case.app.status.sync.status == "Synced" and case.app.status.health.status == "Healthy"


def _is_recent(case: Case, reported: ReportedText) -> bool:
    age = case.age(_seen_at(case, reported))
    return age is None or age < _RECENT_EVENT


def _seen_at(case: Case, reported: ReportedText) -> datetime | None:
    seen = (event.seen_at for manifest, event in case.index.events if manifest is reported.manifest)
    return next(seen, None)
