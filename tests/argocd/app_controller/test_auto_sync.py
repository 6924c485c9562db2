"""Auto-sync: each question that can stop it, and what it starts when none does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.argocd.app_controller.auto_sync import (
    AutoSyncReason,
    SelfHealBackoff,
    already_attempted,
    auto_sync,
    self_heal_remaining_backoff,
)
from whysync.argocd.compare.sources import same_sources
from whysync.argocd.sync_windows.windows import WindowReason, WindowVerdict
from whysync.json_tree import MISSING, Object, copy_object, dig, fields
from whysync.kubernetes.api import pointer

NOW = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)
SOURCE: Object = {"repoURL": "https://git/shop", "path": "web"}
DRIFTED: Object = {"group": "apps", "kind": "Deployment", "name": "web", "status": "OutOfSync"}
EXTRA: Object = {"kind": "ConfigMap", "name": "old", "status": "OutOfSync", "requiresPruning": True}


def app(
    *rows: Object, automated: Object | None = None, synced: str = "", phase: str = "Succeeded", **more: Object
) -> Object:
    body: Object = {
        "metadata": {"name": "shop", **more.get("metadata", {})},
        "spec": {"source": SOURCE, "syncPolicy": {"automated": {} if automated is None else automated}},
        "status": {"sync": {"status": "OutOfSync", "revision": "new"}, "resources": list(rows or (DRIFTED,))},
    }
    if synced:
        fields(body["status"])["operationState"] = {
            "phase": phase,
            "message": "one or more objects failed to apply",
            "finishedAt": "2026-03-11T11:59:55Z",
            "operation": {"sync": more.get("sync", {})},
            "syncResult": {"revision": synced, "source": SOURCE},
        }
    return body


def test_a_new_revision_is_synced_with_five_retries() -> None:
    decision = auto_sync(app(synced="old"), NOW)
    assert decision.reason is AutoSyncReason.STARTS
    assert decision.operation == {
        "sync": {"source": SOURCE, "revision": "new"},
        "initiatedBy": {"automated": True},
        "retry": {"limit": 5},
    }


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({**app(), "spec": {"source": SOURCE}}, AutoSyncReason.NOT_AUTOMATED),
        (app(automated={"enabled": False}), AutoSyncReason.DISABLED),
        ({**app(), "operation": {"sync": {}}}, AutoSyncReason.OPERATION_IN_PROGRESS),
        (app(metadata={"deletionTimestamp": "2026-03-11T11:00:00Z"}), AutoSyncReason.BEING_DELETED),
        ({**app(), "status": {"sync": {"status": "Unknown"}}}, AutoSyncReason.NOT_OUT_OF_SYNC),
        (app(EXTRA), AutoSyncReason.PRUNE_ONLY),
        (app(EXTRA, automated={"prune": True}), AutoSyncReason.WOULD_WIPE),
        (app(EXTRA, automated={"prune": True, "allowEmpty": True}), AutoSyncReason.STARTS),
        (app(synced="new", phase="Failed"), AutoSyncReason.FAILED_BEFORE),
        (app(synced="new"), AutoSyncReason.SYNCED_BEFORE),
        (app(synced="new", automated={"selfHeal": True}), AutoSyncReason.SELF_HEALS),
    ],
    ids=lambda value: str(value) if isinstance(value, AutoSyncReason) else "",
)
def test_the_first_question_that_says_no_ends_it(body: Object, reason: AutoSyncReason) -> None:
    decision = auto_sync(body, NOW)
    assert decision.reason is reason
    assert decision.starts is (decision.operation is not None)
    for cited in decision.cites:
        parent = pointer.split(cited)[:1]
        assert dig(body, *parent) is not MISSING


def test_what_failed_once_is_not_tried_again_and_argocd_says_so() -> None:
    decision = auto_sync(app(synced="new", phase="Failed"), NOW)
    assert decision.condition == "Failed last sync attempt to [new]: one or more objects failed to apply"


def test_a_closed_window_stops_it() -> None:
    closed = WindowVerdict(reason=WindowReason.DENY_OPEN)
    assert auto_sync(app(), NOW, windows=closed).reason is AutoSyncReason.WINDOW


def test_self_heal_syncs_what_differs_and_counts() -> None:
    body = app(
        DRIFTED,
        {"kind": "Service", "name": "web", "status": "Synced"},
        synced="new",
        automated={"selfHeal": True},
        sync={"autoHealAttemptsCount": 1},
    )
    decision = auto_sync(body, NOW)
    assert dig(decision.operation, "sync", "autoHealAttemptsCount") == 2
    assert dig(decision.operation, "sync", "resources") == [
        {"group": "apps", "kind": "Deployment", "name": "web"}
    ]


def test_self_heal_waits_longer_each_time() -> None:
    body = app(synced="new", automated={"selfHeal": True}, sync={"autoHealAttemptsCount": 3})
    decision = auto_sync(body, NOW)
    assert (decision.reason, decision.retry_in) == (AutoSyncReason.BACKING_OFF, timedelta(seconds=13))
    delays = [SelfHealBackoff().delay(attempts).total_seconds() for attempts in (0, 1, 2, 3, 4, 5, 6, 10**9)]
    assert delays == [0, 2, 6, 18, 54, 162, 300, 300]
    assert self_heal_remaining_backoff({}, 5, NOW, SelfHealBackoff()) == timedelta()


def test_a_changed_parameter_is_another_source() -> None:
    body = app(synced="new")
    other = copy_object(body)
    fields(dig(other, "spec", "source"))["kustomize"] = {"images": ["web:2"]}
    assert already_attempted(body, ["new"]).attempted
    assert not already_attempted(other, ["new"]).attempted


def test_a_commit_that_does_not_touch_the_app_counts_as_tried() -> None:
    assert not already_attempted(app(synced="old"), ["new"]).attempted
    assert already_attempted(app(synced="old"), ["new"], revisions_have_changes=False).attempted


def test_an_operation_without_a_result_was_tried_when_it_is_over() -> None:
    for phase, attempted in (("Running", False), ("Error", True)):
        body: Object = {"status": {"operationState": {"phase": phase}}}
        assert already_attempted(body, ["new"]).attempted is attempted


def test_sources_compare_as_structs_and_of_a_hydrator_the_sync_source_counts() -> None:
    assert same_sources({"source": {**SOURCE, "chart": ""}}, {"source": SOURCE})
    assert not same_sources({"source": {**SOURCE, "helm": {"valuesObject": {"a": ""}}}}, {"source": SOURCE})
    hydrator: Object = {
        "drySource": {"repoURL": "https://git/shop"},
        "syncSource": {"targetBranch": "env/prod", "path": "web"},
    }
    synced: Object = {**SOURCE, "targetRevision": "env/prod"}
    assert same_sources({"sourceHydrator": hydrator}, {"source": synced})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["spec", "status", "operation", "metadata"]), _JSON, max_size=4),
    st.dictionaries(st.sampled_from(["automated", "sync", "resources", "operationState"]), _JSON, max_size=4),
)
def test_objects_of_any_shape_get_an_answer(body: Object, parts: Object) -> None:
    assert auto_sync(body, NOW).reason in AutoSyncReason
    shaped: Object = {"spec": {"syncPolicy": parts}, "status": parts}
    assert auto_sync(shaped, NOW).reason in AutoSyncReason
