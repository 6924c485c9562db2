"""How one object is written: updates in place of replacements, and the move to server-side apply."""

from __future__ import annotations

import pytest

from tests.argocd.sync.objects import NAMESPACE, thing
from tests.argocd.sync.stub import StubClusterOps
from whysync.argocd.sync.cluster_ops import Reason, Refused
from whysync.argocd.sync.csa_migration import migrate, upgraded_managed_fields
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.request import Request
from whysync.argocd.sync.results import State
from whysync.argocd.sync.step import apply_object
from whysync.argocd.sync.sync_context import SyncContext
from whysync.json_tree import Object, dig
from whysync.kubernetes.api.ref import ref_of

KUBECTL, ARGOCD = "kubectl-client-side-apply", "argocd-controller"


def _step(ground: StubClusterOps, options: SyncOptions) -> SyncContext:
    return SyncContext(State(), Request(namespace=NAMESPACE, revision="1", options=options), ground)


def _row(manager: str, operation: str, *fields: str, version: str = "v1") -> Object:
    owned: Object = {f"f:{name}": {} for name in fields}
    return {"manager": manager, "operation": operation, "apiVersion": version, "fieldsV1": {"f:data": owned}}


def test_a_namespace_is_updated_where_others_are_replaced() -> None:
    ground = StubClusterOps()
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    live: Object = {**namespace, "metadata": {"name": "n", "resourceVersion": "7"}}
    result = apply_object(_step(ground, SyncOptions(replace=True)), namespace, live, dry_run=False)
    assert result == ("Synced", "Namespace/n updated")
    assert [dig(update, "metadata", "resourceVersion") for update in ground.updates] == ["7"]
    assert ground.commands == []


def test_a_refused_update_says_what_the_server_said() -> None:
    ground = StubClusterOps(update_error=Refused("it is immutable"))
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    result = apply_object(_step(ground, SyncOptions(replace=True)), namespace, namespace, dry_run=False)
    assert result == ("SyncFailed", "it is immutable")


def test_fields_of_kubectl_become_argo_cds_before_a_server_side_apply() -> None:
    live = thing("a")
    live["metadata"] = {"name": "a", "namespace": NAMESPACE, "managedFields": [_row(KUBECTL, "Update", "k")]}
    ground = StubClusterOps(objects={ref_of(live): live})
    step = _step(ground, SyncOptions(server_side_apply=True))
    assert apply_object(step, thing("a"), live, dry_run=False) == ("Synced", "")
    assert dig(ground.patches[0], 0, "value") == [_row(ARGOCD, "Apply", "k")]
    assert ground.commands[-1].mode.server_side
    # a dry run is the client's, and moves nothing
    dry = StubClusterOps(objects={ref_of(live): live})
    apply_object(_step(dry, SyncOptions(server_side_apply=True)), thing("a"), live, dry_run=True)
    assert (dry.patches, dry.commands[-1].mode.server_side) == ([], False)


def test_a_failed_move_keeps_the_object_from_being_applied() -> None:
    live = thing("a")
    live["metadata"] = {"name": "a", "namespace": NAMESPACE, "managedFields": [_row(KUBECTL, "Update", "k")]}
    ground = StubClusterOps(objects={ref_of(live): live}, patch_errors=[Refused("forbidden")])
    result = apply_object(_step(ground, SyncOptions(server_side_apply=True)), thing("a"), live, dry_run=False)
    assert result == (
        "SyncFailed",
        f"Failed to perform client-side apply migration for /ConfigMap/{NAMESPACE}/a: forbidden",
    )
    assert ground.commands == []


def test_rows_are_joined_where_both_managers_have_one() -> None:
    rows = [_row(ARGOCD, "Apply", "a"), _row(KUBECTL, "Update", "k"), _row("hpa", "Update", "h")]
    assert upgraded_managed_fields(rows, from_manager=KUBECTL, to_manager=ARGOCD) == [
        _row(ARGOCD, "Apply", "a", "k"),
        _row("hpa", "Update", "h"),
    ]


def test_rows_of_another_version_are_dropped_and_of_a_subresource_kept() -> None:
    status: Object = {**_row(KUBECTL, "Update", "s"), "subresource": "status"}
    rows = [_row(ARGOCD, "Apply", "a"), _row(KUBECTL, "Update", "k", version="v2"), status]
    assert upgraded_managed_fields(rows, from_manager=KUBECTL, to_manager=ARGOCD) == [
        _row(ARGOCD, "Apply", "a"),
        status,
    ]


def test_nothing_to_move() -> None:
    rows = [_row("hpa", "Update", "h")]
    assert upgraded_managed_fields(rows, from_manager=KUBECTL, to_manager=ARGOCD) is rows


def test_moving_gives_up_after_five_conflicts_and_on_rows_that_cannot_be_read() -> None:
    live = thing("a")
    live["metadata"] = {"name": "a", "namespace": NAMESPACE, "managedFields": [_row(KUBECTL, "Update", "k")]}
    busy = StubClusterOps(
        objects={ref_of(live): live}, patch_errors=[Refused("busy", reason=Reason.CONFLICT)] * 9
    )
    with pytest.raises(Refused, match="busy"):
        migrate(busy, live, from_manager=KUBECTL, to_manager=ARGOCD)
    assert len(busy.patches) == 5
    deep: Object = {}
    for _ in range(5_000):
        deep = {"f:a": deep}
    nonsense: Object = {"nonsense": {}}
    for owned in (nonsense, deep):
        bad: Object = {**_row(KUBECTL, "Update"), "fieldsV1": owned}
        live["metadata"] = {"name": "a", "namespace": NAMESPACE, "managedFields": [bad]}
        with pytest.raises(Refused, match="failed to generate csaupgrade migration patch"):
            migrate(
                StubClusterOps(objects={ref_of(live): live}), live, from_manager=KUBECTL, to_manager=ARGOCD
            )
