"""What made a sync fail is gone only where it is gone for the object that failed."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of, row
from whysync.diagnosis.case import Case
from whysync.json_tree import Object
from whysync.messages.patterns.apply import NamespaceMissing, QuotaExceeded
from whysync.queries.already_fixed import fixed_since_autosync_gave_up, proof_of_fix
from whysync.queries.quotas import has_room

TOLD = (
    'services "web" is forbidden: exceeded quota: team, requested: services=1, '
    "used: services=2, limited: services=2"
)
FAILURE = QuotaExceeded(text=TOLD, quota="team", requested="services=1")


def quota(namespace: str, hard: str, used: str = "2") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": namespace},
        "spec": {"hard": {"services": hard}},
        "status": {"hard": {"services": hard}, "used": {"services": used}},
    }


def case(
    *objects: Object, automated: bool = True, phase: str = "Failed", condition: str = "SyncError"
) -> Case:
    result: Object = {**row("Service", "web", "SyncFailed"), "message": TOLD, "hookPhase": "Failed"}
    attempt = f"Failed last sync attempt to [{'a' * 40}]: {TOLD} (retried 2 times)."
    return case_of(
        application(
            sync="OutOfSync",
            spec={"syncPolicy": {"automated": {}} if automated else {}},
            status={
                "resources": [row("Service", "web", "OutOfSync")],
                "conditions": [{"type": condition, "message": attempt}],
                "operationState": {
                    "phase": phase,
                    "operation": {"sync": {"revision": "a" * 40}},
                    "syncResult": {"revision": "a" * 40, "resources": [result]},
                },
            },
        ),
        *objects,
    )


def test_room_in_the_quota_of_the_namespace() -> None:
    full, raised = case(quota("shop", "2")), case(quota("shop", "3"))
    assert proof_of_fix(full, FAILURE, "shop") is None
    assert proof_of_fix(raised, FAILURE, "shop") is not None
    assert proof_of_fix(raised, FAILURE) is not None, "the app's own namespace"
    assert [evidence.ref.kind for evidence in fixed_since_autosync_gave_up(raised)] == ["ResourceQuota"]


def test_room_in_another_namespace_is_none_here() -> None:
    """Quotas of all namespaces often have one name."""
    both = case(quota("shop", "2"), quota("another", "9"))
    assert proof_of_fix(both, FAILURE, "shop") is None
    assert proof_of_fix(both, FAILURE, "another") is not None
    assert fixed_since_autosync_gave_up(both) == ()
    assert fixed_since_autosync_gave_up(case(quota("another", "9"))) == ()


@pytest.mark.parametrize(
    "other_case",
    [
        case(quota("shop", "3"), automated=False),
        case(quota("shop", "3"), phase="Succeeded"),
        case(quota("shop", "3"), condition="ComparisonError"),
    ],
)
def test_nothing_was_given_up(other_case: Case) -> None:
    assert fixed_since_autosync_gave_up(other_case) == ()


@pytest.mark.parametrize(
    ("requested", "fits"),
    [
        ("services=1", True),
        ("services=2", False),
        ("services=1,pods=1", False),  # of pods it says nothing
        ("services=many", False),
        ("", False),
    ],
)
def test_all_that_is_asked_for_has_to_fit(requested: str, fits: bool) -> None:
    assert has_room(quota("shop", "3"), requested) == fits


def test_a_terminating_namespace_is_not_a_fix() -> None:
    existing: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    terminating: Object = {
        **existing,
        "metadata": {"name": "shop", "deletionTimestamp": "2026-03-02T03:00:00Z"},
    }
    missing = NamespaceMissing(text="", namespace="shop")
    assert proof_of_fix(case(existing), missing) is not None
    assert proof_of_fix(case(terminating), missing) is None
    assert proof_of_fix(case(), missing) is None
