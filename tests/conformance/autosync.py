"""autosync.jsonl: when does the controller act?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec

from tests.argocd.sync.stub import StubClusterOps
from tests.conformance.checks import failed_checks, lacks_fragments, mismatch
from whysync.argocd.api.application import Application, OperationState, Phase, Retry
from whysync.argocd.api.project import AppProject
from whysync.argocd.app_controller import auto_sync as autosync
from whysync.argocd.app_controller import need_refresh as refresh
from whysync.argocd.app_controller import operation_state as operation
from whysync.argocd.app_controller.deletion.finalize_app import Fate, fate_of
from whysync.argocd.projects import Cluster, NoCluster, destination_cluster
from whysync.argocd.sync.request import Request
from whysync.argocd.sync.results import State
from whysync.argocd.sync.retry import retry_delay
from whysync.argocd.sync.step import step, terminate
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.decode import decode

T = TypeVar("T")
_NOW = datetime(2024, 3, 13, 12, tzinfo=UTC)


def without_project(state: OperationState, project: str) -> OperationState:
    """There is no such project, so the sync gets no turn."""
    lookup = f'error getting app project "{project}": appproject.argoproj.io "{project}" not found'
    message = f"Failed to load application project: {lookup}"
    return msgspec.structs.replace(state, phase=Phase.ERROR.value, message=message)


def check(record: Object) -> list[str]:
    return _OPS[text(record["op"])](record, fields(record["expect"]))


def _decoded(value: Json, into: type[T]) -> T:
    decoded, problems = decode(fields(value), into)
    assert decoded is not None
    assert not problems, problems
    return decoded


def _seconds(value: Json) -> timedelta:
    return timedelta(seconds=float(value) if isinstance(value, int | float) else 0)


def _projects(record: Object) -> dict[str, AppProject]:
    result = [_decoded(item, AppProject) for item in items(record["projects"])]
    return {project.metadata.name: project for project in result}


def _auto_sync(record: Object, expect: Object) -> list[str]:
    decision = autosync.auto_sync(
        fields(record["app"]),
        _NOW,
        sync_status=fields(record["sync_status"]),
        resources=[fields(row) for row in items(record["resources"])],
        revisions_have_changes=record["compare_revisions"] is True,
        backoff=autosync.SelfHealBackoff(base=None, plain=_seconds(record["self_heal_timeout_seconds"])),
    )
    failures = mismatch("error_condition", expect["error_condition"], decision.condition != "")
    if "starts" in expect:
        failures += mismatch("starts", expect["starts"], decision.starts)
    return failures + failed_checks(decision.operation, expect.get("operation"))


def _already_attempted(record: Object, expect: Object) -> list[str]:
    result = autosync.already_attempted(
        fields(record["app"]),
        [text(revision) for revision in items(record["desired_revisions"])],
        revisions_have_changes=record["revisions_have_changes"] is True,
    )
    return mismatch("already_attempted", expect["already_attempted"], result.attempted)


def _self_heal(record: Object, expect: Object) -> list[str]:
    backoff = fields(record["backoff"])
    pace = autosync.SelfHealBackoff(
        base=_seconds(backoff["duration_seconds"]),
        factor=integer(backoff["factor"]),
        cap=_seconds(backoff["cap_seconds"]),
    )
    since = record["seconds_since_finished"]
    state: Object = {"phase": "Succeeded"}
    if since is not None:
        state["finishedAt"] = (_NOW - _seconds(since)).isoformat()
    app: Object = {"status": {"operationState": state}}
    wait = autosync.self_heal_remaining_backoff(app, integer(record["attempts"]), _NOW, pace)
    expected, tolerance = _seconds(expect["remaining_seconds"]), _seconds(expect["tolerance_seconds"])
    failures = mismatch("should_self_heal", expect["should_self_heal"], wait <= timedelta())
    return (
        failures if abs(wait - expected) <= tolerance else [*failures, f"remaining: {wait}, not {expected}"]
    )


def _next_retry(record: Object, expect: Object) -> list[str]:
    delay = retry_delay(_decoded(record["retry"], Retry), integer(record["retry_count"]))
    return mismatch("delay_seconds", expect["delay_seconds"], delay.total_seconds())


def _synced(record: Object, app: Application, state: OperationState) -> OperationState:
    """One step of the real operation: in these records there is nothing to apply, and nothing is live."""
    assert not items(record["targets"])
    assert not items(record["lives"])
    clusters = [Cluster(server="https://localhost:6443", name="minikube")]
    try:
        destination_cluster(app.spec.destination, clusters)
    except NoCluster as problem:
        return msgspec.structs.replace(state, phase=Phase.ERROR.value, message=str(problem))
    request = Request(namespace=app.spec.destination.namespace, revision="")
    advance = terminate if state.phase == Phase.TERMINATING else step
    after = advance(State(), request, StubClusterOps())
    return msgspec.structs.replace(state, phase=after.phase, message=after.message)


def _process(record: Object, expect: Object) -> list[str]:
    app = _decoded(record["app"], Application)
    assert app.operation is not None
    now = datetime.fromisoformat(text(record["now"]))
    timeout = _seconds(record.get("sync_timeout_seconds"))
    begun = operation.begin(app.operation, app.status.operation_state, now, timeout=timeout)
    if not begun.start.steps:
        return [f"nothing happens: {begun.start}"]
    if app.project in _projects(record):
        state = _synced(record, app, begun.state)
    else:
        state = without_project(begun.state, app.project)
    verdict = operation.conclude(begun, state, now)
    failures = mismatch("phase", expect["phase"], verdict.state.phase)
    if "message" in expect:
        failures += mismatch("message", expect["message"], verdict.state.message)
    if "message_contains" in expect:
        failures += lacks_fragments("message", expect["message_contains"], verdict.state.message)
    if "retry_count" in expect:
        failures += mismatch("retry_count", expect["retry_count"], verdict.state.retry_count)
    if "refresh_requested" in expect:
        level = None if verdict.refresh is None else verdict.refresh.name
        failures += mismatch("refresh_requested", expect["refresh_requested"], level)
    if "finished_after" in expect:
        before, finished = datetime.fromisoformat(text(expect["finished_after"])), verdict.state.finished_at
        failures += mismatch("finished_after", True, finished is not None and finished > before)
    return failures


def _should_process(record: Object, expect: Object) -> list[str]:
    result = refresh.should_process_operation(fields(record["app"]))
    return mismatch("should_process", expect["should_process"], result)


def _can_process(record: Object, expect: Object) -> list[str]:
    result = refresh.processing(
        fields(record["app"]),
        text(record["controller_namespace"]),
        [text(namespace) for namespace in items(record["application_namespaces"])],
    )
    return mismatch("can_process", expect["can_process"], result is refresh.Processing.PROCESSED)


def _should_be_deleted(record: Object, expect: Object) -> list[str]:
    options = [text(option) for option in items(record["app_sync_options"])]
    fate = fate_of(fields(record["object"]), {}, options)
    return mismatch("should_be_deleted", expect["should_be_deleted"], fate is Fate.DELETED)


def _conditions(record: Object, expect: Object) -> list[str]:
    app = _decoded(record["app"], Application)
    clusters = [
        Cluster(server=text(dig(item, "server")), name=text(dig(item, "name")))
        for item in items(record["clusters"])
    ]
    conditions = refresh.spec_conditions(
        app, _projects(record), clusters, _NOW, controller_namespace=app.namespace
    )
    failures = mismatch("has_errors", expect["has_errors"], conditions.has_errors)
    expected = [fields(item) for item in items(expect["conditions"])]
    failures += mismatch("conditions", len(expected), len(conditions.conditions))
    for item, condition in zip(expected, conditions.conditions, strict=False):
        failures += mismatch("type", item["type"], condition.type)
        if "message" in item:
            failures += mismatch("message", item["message"], condition.message)
        if "message_contains" in item:
            failures += lacks_fragments("message", item["message_contains"], condition.message)
    return failures


def _need_refresh(record: Object, expect: Object) -> list[str]:
    reason = refresh.need_refresh(
        fields(record["app"]),
        datetime.fromisoformat(text(record["now"])),
        soft=_seconds(record["soft_timeout_seconds"]),
        hard=_seconds(record["hard_timeout_seconds"]),
        requested=[operation.CompareWith[text(name)] for name in items(record["requested_levels"])],
    )
    failures = mismatch("need_refresh", expect["need_refresh"], reason.reason is not None)
    if "refresh_type" in expect:
        failures += mismatch("refresh_type", expect["refresh_type"], "hard" if reason.hard else "normal")
    if "compare_with" in expect:
        failures += mismatch("compare_with", expect["compare_with"], reason.level.name)
    return failures


def _expiry(record: Object, expect: Object) -> list[str]:
    since = record["seconds_since_reconciled"]
    result = refresh.comparison_expiry(
        None if since is None else _NOW - _seconds(since),
        _NOW,
        soft=_seconds(record["soft_timeout_seconds"]),
        hard=_seconds(record["hard_timeout_seconds"]),
    )
    failures = mismatch("soft_expired", expect["soft_expired"], result.soft)
    return failures + mismatch("hard_expired", expect["hard_expired"], result.hard)


_OPS: dict[str, Callable[[Object, Object], list[str]]] = {
    "auto-sync": _auto_sync,
    "already-attempted": _already_attempted,
    "self-heal-backoff": _self_heal,
    "next-retry": _next_retry,
    "process-operation": _process,
    "should-process-operation": _should_process,
    "can-process": _can_process,
    "should-be-deleted": _should_be_deleted,
    "refresh-conditions": _conditions,
    "need-refresh": _need_refresh,
    "comparison-expiry": _expiry,
}
