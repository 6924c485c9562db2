"""The comparison of an app, step by step: what becomes of each object, and what is said when a step fails."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.argocd.compare.comparing import (
    NOW,
    application,
    compared,
    conditions_of,
    config_map,
    inputs,
    live_config_map,
)
from whysync.argocd.api.application import HealthCode, SyncCode
from whysync.argocd.compare.compare_app_state import NotComparedYet, compare, compare_with_grace
from whysync.argocd.compare.comparison import Comparison
from whysync.argocd.compare.live_objects import LiveStateProblem
from whysync.argocd.diff.options import Strategy
from whysync.json_tree import Json, Object, dig, fields, items

SYNCED, OUT_OF_SYNC, UNKNOWN = SyncCode.SYNCED, SyncCode.OUT_OF_SYNC, SyncCode.UNKNOWN
HOOK = "argocd.argoproj.io/hook"


def rows(comparison: Comparison) -> list[Object]:
    return [fields(row) for row in items(comparison.status.get("resources"))]


# --- pairs -------------------------------------------------------------------------------------------


def test_equal_objects_are_synced() -> None:
    comparison = compared(targets=[config_map()], live=[live_config_map()])
    assert (comparison.sync, [resource.sync for resource in comparison.resources]) == (SYNCED, [SYNCED])
    assert comparison.conditions == ()


def test_a_changed_value_is_out_of_sync_and_its_field_is_named() -> None:
    comparison = compared(targets=[config_map()], live=[live_config_map(data={"a": "c"})])
    assert comparison.sync is OUT_OF_SYNC
    diff = comparison.resources[0].diff
    assert diff is not None
    assert [(change.pointer, change.desired, change.live) for change in diff.changes] == [
        ("/data/a", "b", "c")
    ]


def test_a_missing_object_is_out_of_sync_and_leaves_health_alone_while_another_lives() -> None:
    comparison = compared(targets=[config_map(), config_map("other")], live=[live_config_map()])
    missing = next(resource for resource in comparison.resources if resource.live is None)
    assert (missing.ref.name, missing.sync, missing.live is None) == ("other", OUT_OF_SYNC, True)
    assert missing.health is not None
    assert missing.health.code is HealthCode.MISSING
    assert comparison.health is not None
    assert comparison.health.code is HealthCode.HEALTHY


def test_an_app_of_which_nothing_lives_is_missing() -> None:
    comparison = compared(targets=[config_map()])
    assert dig(comparison.status, "health", "status") == "Missing"


def test_an_extra_object_is_out_of_sync_and_requires_pruning() -> None:
    comparison = compared(live=[live_config_map()])
    extra = comparison.resources[0]
    assert (comparison.sync, extra.sync, extra.requires_pruning) == (OUT_OF_SYNC, OUT_OF_SYNC, True)
    assert rows(comparison)[0]["requiresPruning"] is True


def test_ignore_extraneous_spares_the_app_and_not_the_row() -> None:
    note: Object = {"argocd.argoproj.io/compare-options": "IgnoreExtraneous"}
    comparison = compared(live=[live_config_map(annotations=note)])
    assert (comparison.sync, comparison.resources[0].sync) == (SYNCED, OUT_OF_SYNC)


def test_an_extra_object_that_a_controller_made_is_not_looked_at() -> None:
    owned = live_config_map(ownerReferences=[{"kind": "ReplicaSet", "name": "x", "uid": "y"}])
    assert compared(live=[owned]).resources == ()


def test_an_object_of_the_same_name_is_compared_whoevers_it_is() -> None:
    comparison = compared(targets=[config_map()], live=[live_config_map(owner="")])
    assert [resource.live is not None for resource in comparison.resources] == [True]


def test_a_mark_that_was_copied_from_another_object_does_not_count() -> None:
    copied: Object = {"argocd.argoproj.io/tracking-id": "shop:/ConfigMap:shop/original"}
    comparison = compared(live=[live_config_map(annotations=copied)])
    item = comparison.resources[0]
    assert (comparison.sync, item.sync, item.is_own, item.requires_pruning) == (SYNCED, None, False, False)


def test_one_object_under_two_api_groups_counts_once() -> None:
    def role(api_version: str) -> Object:
        group = api_version.partition("/")[0]
        mark: Object = {"argocd.argoproj.io/tracking-id": f"shop:{group}/Role:shop/r"}
        meta: Object = {"name": "r", "namespace": "shop", "uid": "same", "annotations": mark}
        return {"apiVersion": api_version, "kind": "Role", "metadata": meta, "rules": []}

    ours = role("rbac.authorization.k8s.io/v1")
    comparison = compared(targets=[ours], live=[ours, role("authorization.openshift.io/v1")])
    assert [resource.ref.group for resource in comparison.resources] == ["rbac.authorization.k8s.io"]


def test_extra_objects_without_a_uid_are_all_kept() -> None:
    comparison = compared(targets=[config_map()], live=[config_map(name) for name in ("settings", "x", "y")])
    assert [resource.ref.name for resource in comparison.resources] == ["settings", "x", "y"]
    assert all(dig(resource.live, "metadata", "uid") != "" for resource in comparison.resources)
    assert all("uid" not in fields(dig(resource.live, "metadata")) for resource in comparison.resources)


def test_another_api_version_of_the_same_kind_is_no_difference() -> None:
    meta: Object = {"name": "web", "namespace": "shop"}
    spec: Object = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    expected: Object = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
        "spec": spec,
    }
    comparison = compared(targets=[expected], live=[{**expected, "apiVersion": "policy/v1beta1"}])
    assert comparison.sync is SYNCED


# --- targets -----------------------------------------------------------------------------------------


def test_an_object_without_a_namespace_goes_to_the_destination() -> None:
    target = config_map(owner="")
    del fields(target["metadata"])["namespace"]
    comparison = compared(targets=[target], live=[live_config_map()])
    assert (comparison.sync, comparison.resources[0].ref.namespace) == (SYNCED, "shop")


def test_of_doubles_the_last_counts_and_a_warning_says_so() -> None:
    doubles = [config_map(data={"a": "first"}), config_map(data={"a": "last"})]
    comparison = compared(targets=doubles, live=[live_config_map(data={"a": "last"})])
    assert comparison.sync is SYNCED
    warning = "Resource /ConfigMap/shop/settings appeared 2 times among application resources."
    assert conditions_of(comparison) == [("RepeatedResourceWarning", warning)]


def test_an_excluded_kind_is_left_out_with_a_warning() -> None:
    rules = "- apiGroups: ['']\n  kinds: [ConfigMap]\n"
    comparison = compared(targets=[config_map()], settings={"resource.exclusions": rules})
    assert (comparison.sync, comparison.resources) == (SYNCED, ())
    assert conditions_of(comparison) == [
        ("ExcludedResourceWarning", "Resource /ConfigMap settings is excluded in the settings")
    ]


def test_labels_that_are_no_map_are_said_to_be_so() -> None:
    target = config_map(owner="")
    fields(target["metadata"]).update(annotations=["no", "map"], namespace="")
    comparison = compared(targets=[target])
    assert comparison.conditions[0].type == "ComparisonError"
    assert comparison.conditions[0].message.startswith(
        "Failed to normalize target state: failed to set app instance label on resource ConfigMap/settings: "
    )


# --- hooks -------------------------------------------------------------------------------------------


def test_a_hook_is_set_aside() -> None:
    comparison = compared(targets=[config_map(annotations={HOOK: "PreSync"})])
    assert (comparison.sync, comparison.resources, len(comparison.hooks)) == (SYNCED, (), 1)


def test_a_hook_of_no_known_type_vanishes() -> None:
    comparison = compared(targets=[config_map(annotations={HOOK: "Presync"})])
    assert (comparison.sync, comparison.resources, comparison.hooks) == (SYNCED, (), ())


def test_a_live_hook_has_a_row_without_a_status_and_the_wave_of_gits() -> None:
    note: Object = {HOOK: "PreSync", "argocd.argoproj.io/sync-wave": "-1"}
    comparison = compared(
        targets=[config_map(annotations=note)], live=[live_config_map(annotations={HOOK: "PreSync"})]
    )
    assert rows(comparison) == [
        {
            "version": "v1",
            "kind": "ConfigMap",
            "namespace": "shop",
            "name": "settings",
            "hook": True,
            "requiresPruning": True,
            "syncWave": -1,
        }
    ]


@pytest.mark.parametrize(("value", "expected"), [("PreDelete", 0), ("PreDelete,Sync", 1)])
def test_hooks_of_the_deletion_take_no_part(value: str, expected: int) -> None:
    comparison = compared(targets=[config_map(annotations={HOOK: value})])
    assert comparison.has_pre_delete_hooks
    assert len(comparison.hooks) == expected


def test_a_skipped_object_has_a_row_and_no_status() -> None:
    comparison = compared(targets=[config_map(annotations={HOOK: "Skip"})])
    assert (comparison.sync, comparison.resources[0].sync, comparison.resources[0].health) == (
        SYNCED,
        None,
        None,
    )


# --- the project -------------------------------------------------------------------------------------


def test_a_live_object_that_the_project_may_not_see_looks_missing() -> None:
    project: Object = {
        "metadata": {"name": "default"},
        "spec": {"destinations": [{"server": "*", "namespace": "elsewhere"}]},
    }
    comparison = compared(targets=[config_map()], live=[live_config_map()], project=project)
    assert comparison.resources[0].live is None


def test_a_kind_that_the_project_forbids_is_unknown_and_drifts_all_the_same() -> None:
    project: Object = {
        "metadata": {"name": "default"},
        "spec": {
            "destinations": [{"server": "*", "namespace": "*"}],
            "namespaceResourceBlacklist": [{"group": "", "kind": "ConfigMap"}],
        },
    }
    comparison = compared(targets=[config_map()], live=[live_config_map()], project=project)
    item = comparison.resources[0]
    assert (comparison.sync, item.sync) == (OUT_OF_SYNC, UNKNOWN)


def test_a_namespaced_kind_nowhere_is_an_invalid_spec() -> None:
    app = application(spec={"destination": {"server": "https://kubernetes.default.svc"}})
    target = config_map(owner="")
    del fields(target["metadata"])["namespace"]
    comparison = compared(app=app, targets=[target])
    assert conditions_of(comparison) == [
        ("InvalidSpecError", "Namespace for settings /v1, Kind=ConfigMap is missing.")
    ]


# --- what fails --------------------------------------------------------------------------------------


def test_git_that_cannot_be_read_leaves_sync_unknown_and_health_known() -> None:
    comparison = compared(live=[live_config_map()], target_error="rpc error: no such path")
    assert conditions_of(comparison) == [
        ("ComparisonError", "Failed to load target state: rpc error: no such path")
    ]
    assert (comparison.sync, comparison.resources[0].sync) == (UNKNOWN, UNKNOWN)
    assert comparison.resources[0].requires_pruning
    assert dig(comparison.status, "health", "status") == "Healthy"


class Broken:
    def managed(self, instance: str, targets: object) -> dict[object, object]:
        raise LiveStateProblem(f"the cluster of {instance} does not answer {bool(targets)}")


def test_a_cluster_that_does_not_answer_leaves_all_unknown() -> None:
    comparison = compared(targets=[config_map()], live=Broken())  # pyright: ignore[reportArgumentType]  (it never returns)
    assert conditions_of(comparison) == [
        ("ComparisonError", "Failed to load live state: the cluster of shop does not answer True")
    ]
    assert [resource.sync for resource in comparison.resources] == [UNKNOWN]


def test_one_object_that_cannot_be_compared_fails_the_app_and_the_others_are_told() -> None:
    bad = config_map("bad", annotations={"argocd.argoproj.io/sync-options": "ServerSideApply=true"})
    comparison = compared(
        targets=[{**bad, "unheard": "of"}, config_map()],
        live=[live_config_map("bad"), live_config_map(data={"a": "c"})],
    )
    assert comparison.sync is UNKNOWN
    assert [resource.sync for resource in comparison.resources] == [UNKNOWN, UNKNOWN]
    assert [bool(resource.error) for resource in comparison.resources] == [True, False]
    assert comparison.resources[1].is_modified
    assert comparison.conditions[0].message.startswith(
        "Failed to compare desired state to live state: failed to calculate diff: "
        "error calculating structured merge diff: "
    )


def test_a_rule_that_does_not_compile_fails_the_app() -> None:
    rule: Json = {"kind": "ConfigMap", "jqPathExpressions": [".data["]}
    comparison = compared(
        app=application(spec={"ignoreDifferences": [rule]}), targets=[config_map()], live=[live_config_map()]
    )
    assert (comparison.sync, comparison.rules) == (UNKNOWN, None)
    assert comparison.conditions[0].message.startswith(
        "Failed to compare desired state to live state: failed to create diff normalizer: "
    )


def test_settings_that_cannot_be_read_empty_the_rows_without_a_word() -> None:
    before: Object = {
        "resources": [{"kind": "ConfigMap", "name": "old"}],
        "conditions": [{"type": "SyncError", "message": "kept"}],
    }
    comparison = compared(
        app=application(status=before), targets=[config_map()], settings={"resource.customizations": "no map"}
    )
    assert dig(comparison.status, "sync", "status") == dig(comparison.status, "health", "status") == "Unknown"
    assert "resources" not in comparison.status
    assert comparison.status["conditions"] == before["conditions"]


def test_a_repository_error_is_suppressed_during_the_grace_period() -> None:
    failing_inputs = inputs(target_error="down")
    with pytest.raises(NotComparedYet):
        compare_with_grace(failing_inputs, first_seen=None, grace_seconds=180)
    with pytest.raises(NotComparedYet):
        compare_with_grace(failing_inputs, first_seen=NOW - timedelta(seconds=180), grace_seconds=180)
    late = compare_with_grace(failing_inputs, first_seen=NOW - timedelta(seconds=181), grace_seconds=180)
    assert late.sync is UNKNOWN


def test_health_that_cannot_be_judged_is_a_condition() -> None:
    odd: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "three"}}
    odd["metadata"] = {"name": "web", "namespace": "shop", "uid": "u"}
    comparison = compared(targets=[odd], live=[odd])
    assert [condition.type for condition in comparison.conditions] == ["ComparisonError"]
    assert comparison.conditions[0].message.startswith(
        'error setting app health: failed to get resource health for "Deployment" with name "web"'
    )


# --- tracking ----------------------------------------------------------------------------------------


def test_an_object_of_another_app_is_shared() -> None:
    comparison = compared(targets=[config_map()], live=[live_config_map(owner="team_other")])
    assert conditions_of(comparison) == [
        ("SharedResourceWarning", "ConfigMap/settings is part of applications argocd/shop and team/other")
    ]
    assert comparison.sync is OUT_OF_SYNC


def test_an_app_outside_of_argo_cds_namespace_is_known_by_both_names() -> None:
    app = application(namespace="team")
    comparison = compared(app=app, live=[live_config_map(owner="team_shop")])
    assert [resource.requires_pruning for resource in comparison.resources] == [True]


# --- the namespace of the app ------------------------------------------------------------------------


NAMESPACE: Object = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "name": "shop",
        "uid": "ns",
        "annotations": {
            "argocd.argoproj.io/tracking-id": "shop:/Namespace:shop/shop",
            "argocd.argoproj.io/sync-options": "ServerSideApply=true",
        },
        "labels": {"kubernetes.io/metadata.name": "shop", "team": "web"},
    },
}


@pytest.mark.parametrize(("label", "expected"), [("web", SYNCED), ("other", OUT_OF_SYNC)])
def test_a_namespace_that_the_app_makes_is_compared_and_never_pruned(label: str, expected: SyncCode) -> None:
    policy: Object = {"managedNamespaceMetadata": {"labels": {"team": label}}}
    comparison = compared(app=application(spec={"syncPolicy": policy}), live=[NAMESPACE])
    item = comparison.resources[0]
    assert (item.sync, item.requires_pruning, item.strategy) == (expected, False, Strategy.STRUCTURED_MERGE)


def test_a_namespace_that_git_has_counts_though_its_kind_is_excluded() -> None:
    rules = "- apiGroups: ['']\n  kinds: [Namespace]\n"
    policy: Object = {"managedNamespaceMetadata": {"labels": {"team": "web"}}}
    comparison = compared(
        app=application(spec={"syncPolicy": policy}),
        targets=[NAMESPACE],
        live=[NAMESPACE],
        settings={"resource.exclusions": rules},
    )
    assert [resource.target is None for resource in comparison.resources] == [True]


def test_changed_metadata_of_the_namespace_drifts_the_app_alone() -> None:
    spec: Object = {"syncPolicy": {"managedNamespaceMetadata": {"labels": {"team": "web"}}}}
    status: Object = {"operationState": {"syncResult": {"managedNamespaceMetadata": {"labels": {}}}}}
    comparison = compared(
        app=application(spec=spec, status=status), targets=[config_map()], live=[live_config_map()]
    )
    assert (comparison.sync, [resource.sync for resource in comparison.resources]) == (OUT_OF_SYNC, [SYNCED])


# --- strategies --------------------------------------------------------------------------------------


def test_server_side_diff_without_answers_of_the_server_says_so() -> None:
    note: Json = {"argocd.argoproj.io/compare-options": "ServerSideDiff=true"}
    comparison = compared(
        app=application(annotations=note), targets=[config_map()], live=[live_config_map(data={"a": "c"})]
    )
    assert (comparison.strategy, comparison.resources[0].strategy) == (
        Strategy.SERVER_SIDE,
        Strategy.STRUCTURED_MERGE,
    )
    assert comparison.sync is OUT_OF_SYNC
    assert "server-side diff" in comparison.notes[0]


def test_ignored_fields_do_not_differ() -> None:
    rule: Json = {"kind": "ConfigMap", "jsonPointers": ["/data/a"]}
    comparison = compared(
        app=application(spec={"ignoreDifferences": [rule]}),
        targets=[config_map()],
        live=[live_config_map(data={"a": "c"})],
    )
    assert comparison.sync is SYNCED


def test_what_a_trusted_manager_changed_does_not_differ() -> None:
    record: Json = [{"manager": "tuner", "operation": "Update", "fieldsV1": {"f:data": {"f:a": {}}}}]
    rule: Json = {"kind": "ConfigMap", "managedFieldsManagers": ["tuner"]}
    comparison = compared(
        app=application(spec={"ignoreDifferences": [rule]}),
        targets=[config_map()],
        live=[live_config_map(data={"a": "c"}, managedFields=record)],
    )
    assert comparison.sync is SYNCED


# --- the status --------------------------------------------------------------------------------------


def test_the_status_is_what_argo_cd_would_write() -> None:
    before: Object = {
        "history": [{"id": 1}],
        "health": {"status": "Healthy", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        "conditions": [
            {
                "type": "ComparisonError",
                "message": "gone by now",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            },
            {"type": "SyncError", "message": "stays", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ],
    }
    spec: Object = {"ignoreDifferences": [{"kind": "X", "jsonPointers": ["/a"]}]}
    app = application(spec=spec, status=before)
    comparison = compared(app=app, targets=[config_map("b"), config_map("a")], live=[live_config_map("a")])
    assert comparison.status == {
        "history": [{"id": 1}],
        "reconciledAt": "2026-03-02T03:10:00Z",
        "controllerNamespace": "argocd",
        "resourceHealthSource": "appTree",
        "health": {"status": "Healthy", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        "sync": {
            "status": "OutOfSync",
            "revision": "abc123",
            "comparedTo": {
                "source": fields(app["spec"])["source"],
                "destination": fields(app["spec"])["destination"],
                "ignoreDifferences": spec["ignoreDifferences"],
            },
        },
        "conditions": [
            {"type": "SyncError", "message": "stays", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        ],
        "resources": [
            {"version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "a", "status": "Synced"},
            {"version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "b", "status": "OutOfSync"},
        ],
    }


def test_several_sources_leave_an_empty_one_beside_them() -> None:
    sources: Json = [{"repoURL": "one"}, {"repoURL": "two"}]
    comparison = compared(app=application(spec={"source": None, "sources": sources}))
    sync = fields(comparison.status["sync"])
    assert (sync["revisions"], dig(sync, "comparedTo", "source")) == (["abc123"], {"repoURL": ""})
    assert dig(sync, "comparedTo", "sources") == sources


# --- properties --------------------------------------------------------------------------------------


NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
OBJECTS = st.lists(st.tuples(NAMES, st.sampled_from(["1", "2"])), max_size=6)


@given(desired=OBJECTS, existing=OBJECTS)
def test_every_name_gets_one_row_and_the_app_is_as_its_rows(
    desired: list[tuple[str, str]], existing: list[tuple[str, str]]
) -> None:
    targets = [config_map(name, data={"v": value}) for name, value in desired]
    live = [live_config_map(name, data={"v": value}) for name, value in existing]
    comparison = compared(targets=targets, live=live)
    names = [resource.ref.name for resource in comparison.resources]
    assert sorted(names) == sorted({name for name, _ in [*desired, *existing]})
    drifts = any(resource.sync is OUT_OF_SYNC for resource in comparison.resources)
    assert comparison.sync is (OUT_OF_SYNC if drifts else SYNCED)
    last_desired, last_existing = dict(desired), dict(existing)
    for resource in comparison.resources:
        equal = last_desired.get(resource.ref.name) == last_existing.get(resource.ref.name)
        assert resource.sync is (SYNCED if equal else OUT_OF_SYNC)


@given(objects=OBJECTS, seed=st.randoms(use_true_random=False))
def test_the_order_of_live_objects_changes_nothing(objects: list[tuple[str, str]], seed: object) -> None:
    live = [live_config_map(name, data={"v": value}) for name, value in dict(objects).items()]
    shuffled = live.copy()
    getattr(seed, "shuffle")(shuffled)  # noqa: B009  (hypothesis gives a Random without saying so)
    targets = [config_map("a"), config_map("b")]
    assert compared(targets=targets, live=live).status == compared(targets=targets, live=shuffled).status


def test_nothing_that_was_given_is_changed() -> None:
    app, target, live = application(), config_map(), live_config_map(data={"a": "c"})
    before = repr((app, target, live))
    compare(inputs(app=app, targets=[target], live=[live]))
    assert repr((app, target, live)) == before


def test_a_deep_object_fails_the_comparison_and_not_the_program() -> None:
    deep: Json = {}
    for _ in range(20_000):
        deep = {"a": deep}
    target: Object = {"apiVersion": "x.io/v1", "kind": "X", "metadata": {"name": "x", "namespace": "shop"}}
    comparison = compared(targets=[{**target, "spec": deep}], live=[{**target, "spec": {"a": {"a": deep}}}])
    assert comparison.sync is UNKNOWN
    assert "nested too deeply" in comparison.resources[0].error
