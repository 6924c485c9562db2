"""Symptoms are read off a Case without guessing: one test for each kind, and every sync x health."""

from __future__ import annotations

import itertools

import pytest

from tests.situations import application, case_of, config_map, row
from whysync.argocd.api.application import HealthCode, SyncCode
from whysync.diagnosis.case import Case
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.diagnosis.symptom import Side, Symptom, SymptomKind
from whysync.json_tree import Json, Object


def only(case: Case) -> Symptom:
    (symptom,) = case.symptoms
    return symptom


def test_nothing_wrong_has_no_symptom() -> None:
    rows: list[Json] = [row("Deployment", "web", health={"status": "Healthy"}), row("ConfigMap", "settings")]
    assert case_of(application(status={"resources": rows})).symptoms == ()


def test_a_condition() -> None:
    conditions: list[Json] = [{"type": "ComparisonError", "message": "rpc error: code = Unknown"}]
    symptom = only(case_of(application(sync="Unknown", status={"conditions": conditions})))
    assert (symptom.kind, symptom.side) == (SymptomKind.CONDITION, Side.COMPARE)
    assert symptom.text == "ComparisonError: rpc error: code = Unknown"


@pytest.mark.parametrize(
    ("type", "side"),
    [
        ("InvalidSpecError", Side.COMPARE),
        ("UnknownError", Side.COMPARE),
        ("SyncError", Side.APPLY),
        ("DeletionError", Side.APPLY),
        ("SharedResourceWarning", Side.DRIFT),
        ("RepeatedResourceWarning", Side.DRIFT),
        ("OrphanedResourceWarning", Side.DRIFT),
        ("ExcludedResourceWarning", Side.DRIFT),
    ],
)
def test_each_condition_has_its_side(type: str, side: Side) -> None:
    assert only(case_of(application(status={"conditions": [{"type": type, "message": "x"}]}))).side is side


def test_unknown_without_any_condition_is_a_symptom_too() -> None:
    assert only(case_of(application(sync="Unknown"))).id == "condition:none"


@pytest.mark.parametrize("phase", ["Failed", "Error", "Running", "Terminating"])
def test_an_operation_that_has_not_succeeded(phase: str) -> None:
    symptom = only(case_of(application(status={"operationState": {"phase": phase, "message": "so it is"}})))
    assert (symptom.id, symptom.side) == ("operation", Side.APPLY)
    assert symptom.text == f"operation {phase}: so it is"


def test_a_result_is_what_the_operation_echoes() -> None:
    failed: Object = {
        "kind": "ConfigMap",
        "namespace": "shop",
        "name": "x",
        "status": "SyncFailed",
        "message": "no",
    }
    state: Object = {
        "phase": "Failed",
        "message": "one or more tasks failed",
        "syncResult": {"resources": [failed]},
    }
    operation, result = case_of(application(status={"operationState": state})).symptoms
    assert (operation.kind, result.kind) == (SymptomKind.OPERATION, SymptomKind.RESULT)
    assert operation.because == (result.id,)
    assert result.text == "ConfigMap shop/x SyncFailed: no"


def test_a_field_that_differs() -> None:
    case = case_of(
        application(sync="OutOfSync", status={"resources": [row("ConfigMap", "settings", "OutOfSync")]}),
        config_map(data={"a": "git"}, desired=True),
        config_map(data={"a": "live"}),
    )
    symptom = only(case)
    assert (symptom.kind, symptom.side) == (SymptomKind.DIFFERS, Side.DRIFT)
    assert symptom.id == "differs:/ConfigMap/shop/settings:/data/a"


def test_a_row_that_differs_where_the_objects_are_unknown() -> None:
    case = case_of(
        application(sync="OutOfSync", status={"resources": [row("ConfigMap", "settings", "OutOfSync")]})
    )
    assert only(case).id == "differs:/ConfigMap/shop/settings"


def test_a_name_with_a_colon_counts_once() -> None:
    """`system:node` is a name that Kubernetes itself uses."""
    at: Object = {"group": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:shop"}
    role: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "system:shop", "annotations": {"whysync.dev/role": "desired"}},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    live: Object = {**role, "metadata": {"name": "system:shop"}, "rules": []}
    case = case_of(
        application(sync="OutOfSync", status={"resources": [{**at, "status": "OutOfSync"}]}), role, live
    )
    assert [symptom.id for symptom in case.symptoms if not symptom.id.endswith(("/rules", "/rules/0"))] == []


def test_an_app_that_is_out_of_sync_while_no_resource_is() -> None:
    assert only(case_of(application(sync="OutOfSync"))).id == "differs"


def test_a_resource_that_is_gone() -> None:
    missing = row("ConfigMap", "settings", "OutOfSync", health={"status": "Missing"})
    symptom = only(case_of(application(sync="OutOfSync", health="Missing", status={"resources": [missing]})))
    assert (symptom.kind, symptom.side) == (SymptomKind.MISSING, Side.DRIFT)


def test_a_resource_that_git_has_dropped() -> None:
    extra = row("ConfigMap", "settings", "OutOfSync", requiresPruning=True)
    assert (
        only(case_of(application(sync="OutOfSync", status={"resources": [extra]}))).kind is SymptomKind.EXTRA
    )


def test_a_resource_that_is_unhealthy() -> None:
    sick = row(
        "Deployment", "web", health={"status": "Degraded", "message": "exceeded its progress deadline"}
    )
    symptom = only(case_of(application(health="Degraded", status={"resources": [sick]})))
    assert (symptom.kind, symptom.side) == (SymptomKind.UNHEALTHY, Side.HEALTH)
    assert symptom.text == "Deployment shop/web is Degraded: exceeded its progress deadline"


def test_an_app_that_is_unhealthy_while_no_resource_is() -> None:
    assert only(case_of(application(health="Degraded"))).id == "unhealthy"


def event(message: str, *, type: str = "Warning", reason: str = "Failed") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web-1.17", "namespace": "shop"},
        "type": type,
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-1"},
    }


PULL = 'Failed to pull image "registry.example.com/web:2": not found'


def test_a_warning_that_can_be_read_is_a_symptom() -> None:
    symptom = only(case_of(application(), event(PULL)))
    assert symptom.kind is SymptomKind.EVENT
    assert str(symptom.ref) == "Pod shop/web-1"


def test_events_that_say_nothing_wrong_are_none() -> None:
    assert case_of(application(), event("Pulled the image", type="Normal")).symptoms == ()
    assert case_of(application(), event("Successfully assigned shop/web-1 to a node")).symptoms == ()


def test_a_warning_that_is_not_understood_is_kept_with_its_reason() -> None:
    symptom = only(case_of(application(), event("something odd but unknown", reason="Unheard")))
    assert symptom.unread
    assert symptom.text == "Unheard: something odd but unknown"
    assert symptom.raw == "something odd but unknown"


def test_a_normal_event_counts_if_its_reason_is_only_given_for_trouble() -> None:
    waiting = event("pod didn't trigger scale-up", type="Normal", reason="NotTriggerScaleUp")
    assert [symptom.kind for symptom in case_of(application(), waiting).symptoms] == [SymptomKind.EVENT]


def test_a_warning_with_a_known_reason_is_a_symptom_whatever_it_says() -> None:
    assert only(case_of(application(), event("something odd", reason="FailedScheduling"))).side is Side.HEALTH


def test_a_warning_about_a_pod_that_is_well_again_is_history() -> None:
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-1", "namespace": "shop"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    assert case_of(application(), event(PULL), pod).symptoms == ()


EVERY = list(itertools.product([*SyncCode, ""], [*HealthCode, ""]))


@pytest.mark.parametrize(("sync", "health"), EVERY)
@pytest.mark.parametrize("rows", ["no rows", "rows that agree"])
def test_sync_and_health_are_independent(sync: str, health: str, rows: str) -> None:
    """Each combination is read for itself: a side for what is wrong, none for what is not."""
    status = "OutOfSync" if sync == "OutOfSync" else "Synced"
    resources: list[Json] = [row("ConfigMap", "settings", status)]
    if health not in ("", "Missing"):
        resources.append(row("Deployment", "web", health={"status": health}))
    case = case_of(
        application(sync=sync, health=health, status={"resources": [] if rows == "no rows" else resources})
    )
    report = diagnose(case, diagnosis_rules())
    assert report.crashed == ()
    sides = {symptom.side for symptom in case.symptoms}
    assert (Side.COMPARE in sides) == (sync == "Unknown")
    assert (Side.DRIFT in sides) == (sync == "OutOfSync")
    assert (Side.HEALTH in sides) == (health not in ("", "Healthy", "Missing"))
    assert (report.side is Side.NONE) == (not case.symptoms)
    explained = {id for finding in report.findings for id in finding.explains}
    unexplained = {symptom.id for symptom in report.unexplained}
    assert not explained & unexplained
