"""Operations, retries, refreshes and deletions: what the controller decides around a sync."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from whysync.argocd.api.application import (
    Application,
    Backoff,
    Condition,
    InitiatedBy,
    Metadata,
    Operation,
    OperationState,
    Phase,
    Retry,
    Spec,
    Status,
    SyncOperation,
    SyncResult,
)
from whysync.argocd.api.project import AppProject
from whysync.argocd.app_controller.deletion.finalize_app import Fate, fate_of
from whysync.argocd.app_controller.need_refresh import (
    Processing,
    RefreshReason,
    comparison_expiry,
    need_refresh,
    processing,
    spec_conditions,
)
from whysync.argocd.app_controller.operation_state import CompareWith, Start, begin, conclude
from whysync.argocd.sync.retry import BadBackoff, may_retry, next_retry_at, retry_delay
from whysync.json_tree import Object

NOW = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def operation(limit: int = 0, **retry: object) -> Operation:
    return Operation(
        sync=SyncOperation(revision="abc"), retry=msgspec.convert({"limit": limit, **retry}, Retry)
    )


def running(of: Operation, **more: object) -> OperationState:
    state = OperationState(operation=of, phase="Running", started_at=NOW - 5 * MINUTE)
    return msgspec.structs.replace(state, **more)


def failed(state: OperationState) -> OperationState:
    return msgspec.structs.replace(state, phase="Failed", message="it broke")


def test_a_new_operation_replaces_one_that_is_over() -> None:
    old = OperationState(phase="Succeeded", message="done")
    begun = begin(operation(), old, NOW)
    assert (begun.start, begun.state.phase, begun.state.started_at) == (Start.NEW, "Running", NOW)


def test_a_failure_is_scheduled_again_and_stays_running() -> None:
    begun = begin(operation(2), None, NOW)
    state = conclude(begun, failed(begun.state), NOW).state
    assert (state.phase, state.retry_count, state.finished_at) == ("Running", 1, NOW)
    assert state.message == "it broke. Retrying attempt #1 at 12:00PM."
    waiting = begin(state.operation, state, NOW + timedelta(seconds=9))
    assert (waiting.start, waiting.retry_at) == (Start.WAITING, NOW + timedelta(seconds=10))
    assert not waiting.start.steps
    again = begin(state.operation, state, NOW + timedelta(seconds=10))
    assert (again.start, again.state.message) == (Start.RETRIED, "Retrying operation. Attempt #1")
    assert again.state.finished_at is None


def test_after_the_last_retry_it_is_over() -> None:
    begun = begin(operation(1), running(operation(1), retry_count=1), NOW)
    verdict = conclude(begun, failed(begun.state), NOW)
    assert (verdict.state.phase, verdict.state.message) == ("Failed", "it broke (retried 1 times).")
    assert verdict.refresh is CompareWith.CompareWithLatestForceResolve


def test_a_retry_may_take_the_newest_revision() -> None:
    state = running(operation(3, refresh=True), finished_at=NOW - MINUTE, sync_result=SyncResult())
    begun = begin(state.operation, state, NOW)
    assert begun.state.message == "Retrying operation with latest revisions. Attempt #0"
    assert begun.state.operation.sync is not None
    assert begun.state.operation.sync.revision == ""
    assert begun.state.sync_result is None


def test_a_timeout_ends_it_without_a_retry() -> None:
    state = running(operation(5))
    begun = begin(state.operation, state, NOW, timeout=MINUTE)
    assert (begun.start, begun.state.phase) == (Start.TIMED_OUT, "Terminating")
    ended = msgspec.structs.replace(begun.state, phase="Failed", message="Operation terminated")
    verdict = conclude(begun, ended, NOW)
    assert verdict.state.message == "Operation terminated, triggered by controller sync timeout"
    assert verdict.state.phase == Phase.FAILED


def test_a_backoff_that_cannot_be_read_ends_it() -> None:
    bad = operation(2, backoff={"duration": "soon"})
    begun = begin(bad, None, NOW)
    state = conclude(begun, failed(begun.state), NOW).state
    assert state.phase == "Error"
    assert state.message == "it broke (failed to retry: unable to parse soon as a duration)"
    assert begin(bad, running(bad, finished_at=NOW), NOW).start is Start.BAD_BACKOFF


def test_what_is_refreshed_afterwards() -> None:
    automated = Operation(sync=SyncOperation(), initiated_by=InitiatedBy(automated=True))
    dry = Operation(sync=SyncOperation(dry_run=True))
    for of, level in ((automated, CompareWith.CompareWithLatest), (dry, None)):
        begun = begin(of, None, NOW)
        done = msgspec.structs.replace(begun.state, phase="Succeeded")
        assert conclude(begun, done, NOW).refresh is level


@pytest.mark.parametrize(
    ("backoff", "count", "seconds"),
    [
        (None, 0, 5),
        (None, 3, 40),
        (None, 10_000, 180),
        (Backoff(duration="10"), 1, 20),
        (Backoff(duration="1m", factor=1), 50, 60),
        (Backoff(duration="2s", factor=0), 1, 0),
        (Backoff(duration="90s", max_duration="1m"), 0, 60),
    ],
)
def test_waits_between_attempts(backoff: Backoff | None, count: int, seconds: float) -> None:
    assert retry_delay(Retry(backoff=backoff), count).total_seconds() == seconds


def test_waits_without_a_limit_stay_within_the_calendar() -> None:
    endless = Retry(limit=-1, backoff=Backoff(duration="99999999999999999", factor=9, max_duration="0"))
    assert may_retry(endless, 10**6)
    assert next_retry_at(endless, NOW, 10**6) > NOW
    assert not may_retry(None, 0)
    with pytest.raises(BadBackoff, match="unable to parse 1d as a duration"):
        retry_delay(Retry(backoff=Backoff(duration="1d")), 0)


APP: Object = {
    "metadata": {"name": "shop", "namespace": "argocd"},
    "spec": {"source": {"path": "web"}, "destination": {"namespace": "shop"}},
    "status": {
        "reconciledAt": "2026-03-11T11:59:00Z",
        "sync": {"comparedTo": {"source": {"path": "web"}, "destination": {"namespace": "shop"}}},
    },
}


def why(body: Object, soft: timedelta = 2 * MINUTE, hard: timedelta = timedelta()) -> RefreshReason | None:
    return need_refresh(body, NOW, soft=soft, hard=hard).reason


def test_reasons_to_compare_again() -> None:
    assert why(APP) is None
    assert why(APP, soft=MINUTE / 2) is RefreshReason.EXPIRED
    assert why(APP, hard=MINUTE / 2) is RefreshReason.HARD_EXPIRED
    spec: Object = {"source": {"path": "web"}, "destination": {"namespace": "shop"}}
    assert why({**APP, "spec": {**spec, "source": {"path": "api"}}}) is RefreshReason.SOURCE_DIFFERS
    assert why({**APP, "spec": {**spec, "destination": {}}}) is RefreshReason.DESTINATION_DIFFERS
    ignoring: Object = {**spec, "ignoreDifferences": [{"kind": "Secret"}]}
    assert why({**APP, "spec": ignoring}) is RefreshReason.IGNORE_DIFFERENCES_DIFFER
    request: Object = {"annotations": {"argocd.argoproj.io/refresh": "hard"}}
    reason = need_refresh({**APP, "metadata": request}, NOW, soft=MINUTE, hard=MINUTE)
    assert (reason.reason, reason.hard) == (RefreshReason.REQUESTED, True)
    levels = (CompareWith.ComparisonWithNothing, CompareWith.CompareWithRecent)
    own = need_refresh(APP, NOW, soft=2 * MINUTE, hard=timedelta(), requested=levels)
    assert (own.reason, own.level) == (RefreshReason.CONTROLLER, CompareWith.CompareWithRecent)


def test_what_was_never_compared_has_expired() -> None:
    never = comparison_expiry(None, NOW, soft=timedelta(), hard=timedelta())
    assert (never.soft, never.hard) == (True, False)


def test_apps_that_the_controller_leaves_alone() -> None:
    skipped: Object = {
        "metadata": {"namespace": "argocd", "annotations": {"argocd.argoproj.io/skip-reconcile": "T"}}
    }
    assert processing(APP, "argocd", ()) is Processing.PROCESSED
    assert processing(skipped, "argocd", ()) is Processing.SKIPPED
    assert processing(APP, "other", ("team-*",)) is Processing.OTHER_NAMESPACE
    assert processing({"metadata": {"namespace": "team-a"}}, "other", ("team-*",)) is Processing.PROCESSED


def test_conditions_of_other_types_stay() -> None:
    sync_error = Condition(type="SyncError", message="failed before", last_transition_time=NOW)
    app = Application(
        metadata=Metadata(name="shop", namespace="teams"),
        spec=Spec(project="web"),
        status=Status(conditions=(sync_error, Condition(type="InvalidSpecError", message="old"))),
    )
    conditions = spec_conditions(app, {}, (), NOW, controller_namespace="argocd")
    assert [condition.type for condition in conditions.conditions] == ["InvalidSpecError", "SyncError"]
    assert conditions.conditions[0].message == "Application referencing project web which does not exist"
    projects = {"web": AppProject(metadata=Metadata(name="web"))}
    conditions = spec_conditions(app, projects, (), NOW, controller_namespace="argocd")
    assert conditions.conditions[1].type == "UnknownError"
    assert "is not permitted to use project 'web'" in conditions.conditions[1].message


@pytest.mark.parametrize(
    ("annotations", "options", "fate"),
    [
        ({}, (), Fate.DELETED),
        ({"argocd.argoproj.io/sync-options": "Delete=false"}, (), Fate.KEPT_BY_OPTION),
        ({}, ("Delete=false",), Fate.KEPT_BY_OPTION),
        ({"argocd.argoproj.io/sync-options": "Delete=confirm"}, ("Delete=false",), Fate.DELETED),
        ({"helm.sh/resource-policy": "keep"}, (), Fate.KEPT_BY_HELM),
    ],
)
def test_what_goes_with_the_app(annotations: Object, options: tuple[str, ...], fate: Fate) -> None:
    obj: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"annotations": annotations}}
    assert fate_of(obj, APP, options) is fate


def test_definitions_and_the_app_itself_stay() -> None:
    crd: Object = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    assert fate_of(crd, APP, ()) is Fate.KEPT_AS_CRD
    own: Object = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": APP["metadata"]}
    assert fate_of(own, APP, ()) is Fate.IS_THE_APP
