from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.conformance.unreached.diff_cache import uses_diff_cache
from tests.conformance.unreached.secret_rows import masked_row
from whysync.argocd.api.application import Condition, IgnoreDifference, NamespaceMetadata
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.app_normalizer import Normalization
from whysync.argocd.compare.app_status import set_conditions
from whysync.argocd.compare.compare_app_state import normalize_target_objects
from whysync.argocd.compare.deletion_confirmation import is_confirmed, requires_confirmation
from whysync.argocd.compare.managed_namespace import managed_namespace
from whysync.argocd.compare.orphans import orphan_warning, orphans
from whysync.argocd.diff.options import DiffOptions
from whysync.argocd.settings import Settings
from whysync.argocd.sync.sync_app_state import kept_history
from whysync.json_tree import MISSING, Json, Object, dig
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Key

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def thing(name: str, namespace: str = "", kind: str = "ConfigMap", **more: Json) -> Object:
    metadata: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


def test_targets_get_their_namespace_and_the_last_of_doubles_counts() -> None:
    first, last = thing("a", data={"x": "1"}), thing("a", "shop", data={"x": "2"})
    role = thing("r", "shop", kind="ClusterRole")
    targets = normalize_target_objects(
        [first, role, last],
        namespace="shop",
        is_namespaced=lambda ref: ref.kind != "ClusterRole",
        track=lambda obj: {**obj, "tracked": True},
    )
    assert targets.objects == (last, {**thing("r", kind="ClusterRole"), "tracked": True})
    assert targets.warnings == ("Resource /ConfigMap/shop/a appeared 2 times among application resources.",)


def test_generated_names_never_collide_and_an_unknown_scope_is_a_namespace() -> None:
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}}
    targets = normalize_target_objects([pod, pod], namespace="shop", is_namespaced=lambda _: None)
    assert len(targets.objects) == 2
    assert dig(targets.objects[0], "metadata", "namespace") == "shop"
    assert targets.warnings == ()


def test_a_condition_keeps_its_time_while_its_message_stays() -> None:
    old = NOON - timedelta(hours=1)
    before = [
        Condition(type="SyncError", message="x", last_transition_time=old),
        Condition(type="ComparisonError", message="same", last_transition_time=old),
    ]
    now = [
        Condition(type="ComparisonError", message="same"),
        Condition(type="ComparisonError", message="new"),
    ]
    result = set_conditions(before, now, ["ComparisonError"], NOON)
    assert [(item.message, item.last_transition_time) for item in result] == [
        ("new", NOON),
        ("same", old),
        ("x", old),
    ]
    assert set_conditions(before, [], ["ComparisonError", "SyncError"], NOON) == ()


def test_a_namespace_is_managed_only_where_asked_or_new() -> None:
    namespace = thing("shop", kind="Namespace")
    labels = NamespaceMetadata(labels={"a": "b"})
    assert managed_namespace(None, None, labels) is None
    assert managed_namespace(namespace, namespace, None) is None
    assert managed_namespace(namespace, None, None) == namespace
    managed = managed_namespace(namespace, namespace, labels)
    assert managed is not None
    assert dig(managed, "metadata", "labels") == {"a": "b"}
    assert dig(managed, "metadata", "annotations") == {
        "argocd.argoproj.io/sync-options": "ServerSideApply=true"
    }


def project(**spec: Json) -> AppProject:
    decoded, _ = decode({"spec": spec}, AppProject)
    assert decoded is not None
    return decoded


def test_orphans_are_what_nobody_claims() -> None:
    lost = Key("", "ConfigMap", "shop", "lost")
    others = [
        (Key("", "ConfigMap", "shop", "kube-root-ca.crt"), ""),
        (Key("", "ServiceAccount", "shop", "default"), ""),
        (Key("", "ConfigMap", "shop", "ours"), ""),
        (Key("", "ConfigMap", "shop", "theirs"), "other"),
        (Key("", "Secret", "shop", "ignored-1"), ""),
        (Key("", "Namespace", "", "shop"), ""),
    ]
    watching = project(orphanedResources={"warn": True, "ignore": [{"kind": "Secret", "name": "ignored-*"}]})
    result = orphans(
        watching,
        [(lost, "gone"), *others],
        managed=[Key("", "ConfigMap", "shop", "ours")],
        existing_apps=["other"],
    )
    assert result == (lost,)
    assert orphan_warning(watching, len(result)) == "Application has 1 orphaned resources"
    assert orphans(project(), [(lost, "")]) == ()
    assert orphan_warning(project(orphanedResources={}), 1) is None


def test_history_is_cut_from_the_front() -> None:
    assert kept_history(range(12)) == tuple(range(2, 12))
    assert kept_history(range(3), 0) == ()
    assert kept_history(range(3), -1) == ()


def with_options(value: str) -> Object:
    return {"metadata": {"annotations": {"argocd.argoproj.io/sync-options": value}}}


def test_what_the_resource_says_hides_what_the_app_says() -> None:
    assert requires_confirmation(with_options("Prune=confirm"))
    assert requires_confirmation({}, ["Delete=confirm"])
    assert not requires_confirmation(with_options("Delete=false"), ["Delete=confirm"])
    assert requires_confirmation(with_options("Delete=false"), ["Delete=confirm", "Prune=confirm"])
    assert not requires_confirmation(None, ["Delete=confirm"])


@pytest.mark.parametrize(
    ("approved", "confirmed"),
    [("2026-01-02T12:00:00Z", True), ("2026-01-02T11:59:59Z", False), ("yes", False), ("", False)],
)
def test_a_confirmation_counts_from_the_start_of_the_operation(approved: str, *, confirmed: bool) -> None:
    assert is_confirmed(approved, NOON) is confirmed


SOURCE: Object = {"repoURL": "https://x/y", "path": "a"}


def app(**status: Json) -> Object:
    sync: Object = {"comparedTo": {"source": SOURCE, "destination": {"namespace": "shop"}}, "revision": "r1"}
    return {
        "metadata": {},
        "spec": {"source": SOURCE, "destination": {"namespace": "shop"}},
        "status": {"reconciledAt": "2026-01-02T11:00:00Z", "sync": sync, **status},
    }


def cached(obj: Object, *, revision: str = "r1", minutes: int = 120, server_side: bool = False) -> bool:
    return uses_diff_cache(
        obj,
        sources=[SOURCE],
        manifest_revisions=[revision],
        manifests=1,
        now=NOON,
        refresh_timeout=timedelta(minutes=minutes),
        server_side_diff=server_side,
    )


def test_differences_are_reused_until_something_changes() -> None:
    assert cached(app())
    assert not cached(app(), revision="r2")
    assert not cached(app(), minutes=30)
    assert cached(app(), minutes=30, server_side=True)
    assert cached(app(), minutes=0)
    assert not cached(app(reconciledAt=None), minutes=0)
    changed: Object = {**app(), "spec": {"source": SOURCE, "destination": {"namespace": "other"}}}
    assert not cached(changed)
    refreshed: Object = {**app(), "metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
    assert not cached(refreshed)


def test_a_secret_is_shown_masked() -> None:
    target = thing("s", "shop", kind="Secret", data={"k": "YQ=="})
    live = thing("s", "shop", kind="Secret", data={"k": "Yg=="})
    row = masked_row(target, live, options=DiffOptions())
    assert row.modified
    assert row.target is not None
    assert row.live is not None
    assert dig(row.target, "data", "k") == "++++++++"
    assert dig(row.live, "data", "k") == "++++++++++++"
    assert not masked_row(target, target, options=DiffOptions()).modified


def test_normalisation_brings_rules_known_types_and_tracking_together() -> None:
    rules = [IgnoreDifference(kind="ConfigMap", json_pointers=("/data/x",))]
    normalization = Normalization.build(rules, Settings().overrides)
    assert dig(normalization(thing("a", data={"x": "1"}, status={})), "data", "x") is MISSING
    assert "status" not in normalization(thing("a", status={"y": 1}))
    labels: Object = {"app.kubernetes.io/instance": "shop"}
    live: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}}
    desired, compared = normalization.pre_diff_normalize(thing("a"), live)
    assert desired == thing("a")
    assert dig(compared, "metadata", "labels") is MISSING
