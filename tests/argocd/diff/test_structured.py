"""Comparisons by structured merge and by dry run, and which of them is used."""

from __future__ import annotations

import pytest

from whysync.argocd.diff.diff import diff
from whysync.argocd.diff.options import DiffOptions, Strategy, ignores_mutation_webhooks, strategy_for
from whysync.json_tree import Json, Object, copy_object, fields
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.structured import Schemas

COMPARE = "argocd.argoproj.io/compare-options"
SYNC = "argocd.argoproj.io/sync-options"
SMD = DiffOptions(strategy=Strategy.STRUCTURED_MERGE)


@pytest.mark.parametrize(
    ("compare_options", "sync_options", "flag", "target", "expected"),
    [
        ("", [], False, "", Strategy.LEGACY),
        ("ServerSideDiff=true", [], False, "", Strategy.SERVER_SIDE),
        (" ServerSideDiff=true , IncludeMutationWebhook=true", [], False, "", Strategy.SERVER_SIDE),
        ("serversidediff=true", [], False, "", Strategy.LEGACY),
        ("", [], True, "", Strategy.SERVER_SIDE),
        ("ServerSideDiff=false", [], True, "", Strategy.LEGACY),
        ("ServerSideDiff=true,ServerSideDiff=false", [], True, "", Strategy.LEGACY),
        ("", ["ServerSideApply=true"], False, "", Strategy.STRUCTURED_MERGE),
        ("", ["ServerSideApply=true"], False, "ServerSideApply=false", Strategy.STRUCTURED_MERGE),
        ("", [], False, "Prune=false, ServerSideApply=true", Strategy.STRUCTURED_MERGE),
        ("ServerSideDiff=true", ["ServerSideApply=true"], False, "", Strategy.SERVER_SIDE),
    ],
)
def test_which_strategy(
    compare_options: str, sync_options: list[str], flag: bool, target: str, expected: Strategy
) -> None:
    strategy = strategy_for(
        {COMPARE: compare_options}, sync_options, server_side_diff=flag, target_annotations={SYNC: target}
    )
    assert strategy is expected


def test_webhooks_are_left_out_unless_asked_for() -> None:
    assert ignores_mutation_webhooks({})
    assert not ignores_mutation_webhooks({COMPARE: "ServerSideDiff=true,IncludeMutationWebhook=true"})


def claim(owned: Object, manager: str = "argocd-controller", operation: str = "Apply") -> Object:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": owned,
    }


def service(spec: Object, *claims: Json, **meta: Json) -> Object:
    managed: Object = {"managedFields": list(claims)} if claims else {}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", **meta, **managed}, "spec": spec}


def test_a_removed_field_is_seen_by_its_owner() -> None:
    spec: Object = {"type": "ClusterIP", "clusterIP": "None"}
    live = service(spec, claim({"f:spec": {"f:type": {}, "f:clusterIP": {}}}))
    result = diff(service({"type": "ClusterIP"}), live, SMD)
    assert result.way == "structured-merge"
    assert [change.pointer for change in result.changes] == ["/spec/clusterIP"]
    by_another = service(spec, claim({"f:spec": {"f:type": {}, "f:clusterIP": {}}}, "kubectl", "Update"))
    assert not diff(service({"type": "ClusterIP"}), by_another, SMD).modified


def test_the_resource_itself_can_ask_for_it() -> None:
    desired = service({"type": "ClusterIP"}, annotations={SYNC: "ServerSideApply=true"})
    assert diff(desired, copy_object(desired)).way == "structured-merge"


def test_last_applied_does_not_count() -> None:
    live = service(
        {"type": "NodePort"}, annotations={"kubectl.kubernetes.io/last-applied-configuration": "x"}
    )
    result = diff(service({"type": "ClusterIP"}), live, SMD)
    assert result.predicted_live is not None
    assert fields(result.predicted_live["metadata"])["annotations"] == {}


@pytest.mark.parametrize(
    ("desired", "live", "problem"),
    [
        (
            service({"typ": "x"}),
            service({}),
            "error building typed value from config resource: .spec.typ: field not d",
        ),
        (
            service({}),
            service({"typ": "x"}),
            "error building typed value from live resource: .spec.typ: field not",
        ),
        (
            service({}),
            service({}, {"operation": "Take"}),
            "error decoding managed fields: operation must be `Apply`",
        ),
        (
            service({}),
            service({}, {"operation": "Apply"}),
            "error decoding managed fields: apiVersion must not be em",
        ),
        (
            service({}),
            service({}, {"operation": "Apply", "apiVersion": "v1"}),
            "error decoding managed fields: missing fieldsType in managed fields entry 0",
        ),
        (
            service({"ports": [{"port": 1}, {"port": 1}]}),
            service({}),
            'from config resource: .spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
        ),
    ],
)
def test_what_cannot_be_compared(desired: Object, live: Object, problem: str) -> None:
    with pytest.raises(DiffError) as caught:
        diff(desired, live, SMD)
    assert str(caught.value).startswith("error calculating structured merge diff: ")
    assert problem in str(caught.value)


def test_a_kind_without_a_schema() -> None:
    thing: Object = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": {"a": 1},
    }
    other: Object = {**thing, "spec": {"a": 2}}
    assert diff(thing, other, SMD).modified
    known = DiffOptions(strategy=Strategy.STRUCTURED_MERGE, schemas=Schemas())
    with pytest.raises(DiffError, match="unable to resolve parseableType for GroupVersionKind: "):
        diff(thing, other, known)


def server_side(answer: Object, **options: bool) -> DiffOptions:
    return DiffOptions(strategy=Strategy.SERVER_SIDE, dry_run=lambda _: answer, **options)  # type: ignore[arg-type]  (all are switches)


def test_what_a_webhook_adds_shows_only_when_asked_for() -> None:
    live = service({"type": "ClusterIP"}, resourceVersion="1")
    own = claim({"f:spec": {"f:type": {}}})
    answer = service({"type": "ClusterIP", "sessionAffinity": "ClientIP"}, own, resourceVersion="2")
    desired = service({"type": "ClusterIP"})
    assert not diff(desired, live, server_side(answer)).modified
    shown = diff(desired, live, server_side(answer, ignore_mutation_webhook=False))
    assert [change.pointer for change in shown.changes] == ["/spec/sessionAffinity"]


def test_own_changes_and_removals_show() -> None:
    live = service({"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "None"})
    answer = service({"type": "NodePort", "sessionAffinity": "ClientIP"}, claim({"f:spec": {"f:type": {}}}))
    result = diff(service({"type": "NodePort"}), live, server_side(answer))
    assert [(change.pointer, change.desired) for change in result.changes if change.desired] == [
        ("/spec/type", "NodePort")
    ]
    assert [change.pointer for change in result.changes] == ["/spec/clusterIP", "/spec/type"]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (service({}), "predictedLive for resource Service/s must have the managedFields"),
        (
            service({}, claim({"f:spec": {}}, "kubectl")),
            "no managed fields found for manager: argocd-controller",
        ),
        (service({}, claim({"x": {}})), "error building managedFields set: "),
        (
            service({"x": 1}, claim({"f:spec": {}})),
            "error converting predicted live state from unstructured to /v1, K",
        ),
    ],
)
def test_answers_that_cannot_be_used(answer: Object, problem: str) -> None:
    with pytest.raises(DiffError) as caught:
        diff(service({}), service({}), server_side(answer))
    assert str(caught.value).startswith(
        "error calculating server side diff: serverSideDiff error: error removing"
    )
    assert problem in str(caught.value)


def test_a_refused_dry_run() -> None:
    def refuse(_: Object) -> Object:
        raise DiffError('admission webhook "x" denied the request')

    options = DiffOptions(strategy=Strategy.SERVER_SIDE, dry_run=refuse)
    with pytest.raises(DiffError, match=r"in dryrun mode for resource Service/s: admission webhook"):
        diff(service({}), service({}), options)
    with pytest.raises(DiffError, match="serverSideDryRunner is null"):
        diff(service({}), service({}), DiffOptions(strategy=Strategy.SERVER_SIDE))
