"""What a sync did to the app's objects, read off the model: whose work it overwrote, what it made, restarted,
scaled and took over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.proofs.worlds import bundle, deployment, in_git, running, settings, synced, there, wrote
from tests.situations import case_of, row
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.kubernetes.field_writers import Writer, WriterKind
from whysync.proofs.simulated_case import SimulatedCase, simulated
from whysync.proofs.sync_effects import Effects, FieldChange, data_loss_text, effects_of

WELL: Object = {"status": "Healthy"}
SHOP = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="shop")
TRACKING = "argocd.argoproj.io/tracking-id"


def after_a_sync(*objects: Object) -> tuple[SimulatedCase, Effects]:
    world = simulated(case_of(*objects), disable_auto_sync=True)
    world.simulation.timeline.settle()
    since = len(world.simulation.api_server.store.journal)
    world.sync()
    world.until(lambda: not world.is_operating, timedelta(minutes=30))
    return world, effects_of(world, since)


def drifted(live: Object, desired: Object) -> tuple[Object, ...]:
    app = synced(row("Deployment", "shop", "OutOfSync", health=WELL), sync="OutOfSync")
    return bundle(), app, in_git(desired), live


# --- whose work ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "mechanism", "by_hand", "is_work", "is_of_git"),
    [
        (WriterKind.KUBECTL_EDIT, None, True, True, False),
        (WriterKind.CONTROLLER, None, False, True, False),
        (WriterKind.ARGOCD, None, False, False, True),
        (WriterKind.API_SERVER, None, False, False, True),
        (None, None, False, False, False),
        (None, Mechanism.BY_HAND, True, True, False),
        (WriterKind.KUBECTL_EDIT, Mechanism.NOT_SYNCED_YET, False, False, True),
        (WriterKind.KUBECTL_EDIT, Mechanism.KEPT, False, False, True),
        (WriterKind.CONTROLLER, Mechanism.BY_CONTROLLER, False, True, False),
        (WriterKind.ARGOCD, Mechanism.API_DEFAULT, False, False, False),
    ],
)
def test_whose_work_a_field_is(
    kind: WriterKind | None, mechanism: Mechanism | None, by_hand: bool, is_work: bool, is_of_git: bool
) -> None:
    writer = None if kind is None else Writer(manager="somebody", kind=kind)
    field_change = FieldChange(
        ref=SHOP, pointer="/spec/replicas", before=3, after=2, writer=writer, mechanism=mechanism, age=None
    )
    assert (field_change.by_hand, field_change.by_other_writer, field_change.from_new_commit) == (
        by_hand,
        is_work,
        is_of_git,
    )


def test_a_scaling_without_a_time_is_as_old_as_the_status_that_followed_it() -> None:
    """The API server keeps no time of writes through `scale`."""
    scale = wrote("kubectl", {"f:spec": {"f:replicas": {}}}, subresource="scale")
    del scale["time"]
    status = wrote(
        "kube-controller-manager",
        {"f:status": {"f:replicas": {}}},
        at="2026-03-02T02:41:00Z",
        subresource="status",
    )
    managed: list[Json] = [scale, status]
    _, effects = after_a_sync(*drifted(running(deployment(replicas=5), managed=managed), deployment()))
    (change,) = effects.overwritten
    assert (change.pointer, change.before, change.after) == ("/spec/replicas", 5, 2)
    assert change.age == timedelta(minutes=30)
    assert effects.scaled == ((SHOP, 5, 2),)


# --- what was made, restarted, run ---------------------------------------------------------------


def test_a_new_template_restarts_pods_and_a_new_label_does_not() -> None:
    _, effects = after_a_sync(
        *drifted(running(deployment(replicas=3)), deployment(image="shop:2", replicas=3))
    )
    assert effects.restarted == ((SHOP, 3),)
    assert effects.scaled == ()
    desired = deployment()
    fields(desired["metadata"])["labels"] = {"team": "shop"}
    _, effects = after_a_sync(*drifted(running(deployment()), desired))
    assert [change.pointer for change in effects.overwritten] == ["/metadata/labels"]
    assert effects.restarted == ()


def test_where_nothing_differs_only_marks_are_written() -> None:
    config = settings("settings")
    app = synced(row("ConfigMap", "settings"))
    _, effects = after_a_sync(bundle(), app, in_git(config), there(config))
    assert effects.is_nothing


def test_a_hook_runs_and_is_no_new_object() -> None:
    hook: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "migrate",
            "namespace": "shop",
            "annotations": {"argocd.argoproj.io/hook": "PreSync", "whysync.dev/role": "desired"},
        },
        "spec": {
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "m:1"}]}}
        },
    }
    config = settings("settings")
    app = synced(row("ConfigMap", "settings"))
    _, effects = after_a_sync(bundle(), app, in_git(config), there(config), hook)
    assert [(ref.name, phase) for ref, phase in effects.hooks] == [("migrate", "PreSync")]
    assert (effects.created, effects.is_nothing) == ((), False)


def test_an_object_tracked_by_another_app_is_taken_over() -> None:
    config = settings("settings", data={"a": "other"})
    fields(config["metadata"])["annotations"] = {TRACKING: "billing:/ConfigMap:shop/settings"}
    app = synced(row("ConfigMap", "settings", "OutOfSync"), sync="OutOfSync")
    desired = in_git(settings("settings"))
    _, effects = after_a_sync(bundle(), app, desired, there(config))
    assert [(ref.name, owner) for ref, owner in effects.taken_over] == [("settings", "billing")]


# --- pods ----------------------------------------------------------------------------------------


def test_replicas_of_a_kind_that_tells_nothing_are_taken_as_running() -> None:
    body: Object = {
        "apiVersion": "db.example.com/v1",
        "kind": "Database",
        "metadata": {"name": "main", "namespace": "shop"},
        "spec": {"replicas": 3},
    }
    entry: Object = {**row("Database", "main"), "group": "db.example.com"}
    _, effects = after_a_sync(bundle(), synced(entry), in_git(body), there(body))
    assert dict(effects.pods)[Key("db.example.com", "Database", "shop", "main")] == 3


def test_pods_that_run_count_though_they_are_not_ready() -> None:
    live = running(deployment(replicas=2))
    fields(live["status"]).update({"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2})
    app = synced(row("Deployment", "shop", "OutOfSync", health={"status": "Progressing"}), sync="OutOfSync")
    _, effects = after_a_sync(bundle(), app, in_git(deployment(image="shop:2")), live)
    assert effects.pods_of(SHOP) == 2
    assert effects.restarted == ((SHOP, 2),)


def owned_pod(name: str, owner: Object, *, phase: str = "Running") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "ownerReferences": [owner]},
        "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "shop:1"}]},
        "status": {"phase": phase, "containerStatuses": [{"name": "main", "ready": True}]},
    }


def test_running_pods_count_for_every_owner_above_them() -> None:
    """The Deployment owns its pods through a ReplicaSet."""
    hash_labels: Object = {"app": "shop", "pod-template-hash": "1"}
    live = running(deployment(replicas=2))
    replica_set: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "shop-1",
            "namespace": "shop",
            "uid": "set",
            "labels": hash_labels,
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "uid": "uid-shop"}
            ],
        },
        "spec": {"replicas": 2, "selector": {"matchLabels": hash_labels}},
        "status": {"replicas": 2, "readyReplicas": 2},
    }
    owner: Object = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "shop-1", "uid": "set"}
    pods = [
        owned_pod("shop-1-a", owner),
        owned_pod("shop-1-b", owner),
        owned_pod("shop-1-c", owner, phase="Pending"),
    ]
    for each in pods:
        fields(each["metadata"])["labels"] = hash_labels
    _, effects = after_a_sync(*drifted(live, deployment(image="shop:2")), replica_set, *pods)
    assert effects.pods_of(SHOP) == 2


# --- objects that are deleted, and what is lost with them ----------------------------------------


def test_what_a_sync_prunes_and_replaces() -> None:
    """A new uid is a new object: with Force, whatever the old one had is gone."""
    forced = settings("forced")
    options: Object = {"argocd.argoproj.io/sync-options": "Force=true,Replace=true"}
    fields(forced["metadata"])["annotations"] = options
    old = settings("old")
    rows = (
        row("ConfigMap", "forced", "OutOfSync"),
        row("ConfigMap", "new", "OutOfSync"),
        row("ConfigMap", "old", "OutOfSync", requiresPruning=True),
    )
    live = there({**forced, "data": {"a": "c"}})
    case = case_of(
        bundle(), synced(*rows, sync="OutOfSync"), in_git(forced), live, in_git(settings("new")), there(old)
    )
    world = simulated(case, disable_auto_sync=True)
    world.simulation.timeline.settle()
    since = len(world.simulation.api_server.store.journal)
    world.simulation.argocd.request_sync(world.app, {"sync": {"prune": True}}, user="admin")
    world.until(lambda: not world.is_operating, timedelta(minutes=30))
    effects = effects_of(world, since)
    assert [ref.name for ref in effects.recreated] == ["forced"]
    assert [ref.name for ref in effects.created] == ["new"]
    assert [ref.name for ref in effects.deleted] == ["old"]
    assert not effects.is_nothing


@pytest.mark.parametrize(
    ("effects", "nothing"),
    [
        (Effects(), True),
        (Effects(created=(SHOP,)), False),
        (Effects(deleted=(SHOP,)), False),
        (Effects(recreated=(SHOP,)), False),
        (Effects(hooks=((SHOP, "PreSync"),)), False),
        (Effects(taken_over=((SHOP, "billing"),)), False),
        (Effects(pods=((SHOP.key, 3),)), True),
    ],
)
def test_each_effect_is_something(effects: Effects, nothing: bool) -> None:
    assert effects.is_nothing is nothing


def lost(kind: str, *objects: Object, group: str = "", name: str = "it") -> str:
    config = settings("settings")
    app = synced(row("ConfigMap", "settings", "OutOfSync"), sync="OutOfSync")
    case = case_of(bundle(), app, in_git(config), there(config), *objects)
    world = simulated(case, disable_auto_sync=True)
    for obj in objects:
        world.before.setdefault(ref_of(obj).key, obj)
    namespace = "" if kind in ("CustomResourceDefinition", "Namespace", "PersistentVolume") else "shop"
    ref = Ref(group=group, version="v1", kind=kind, namespace=namespace, name=name)
    return data_loss_text(world, ref)


def tenant(name: str, group: str = "example.com") -> Object:
    meta: Object = {"name": name, "namespace": "shop"}
    return there({"apiVersion": f"{group}/v1", "kind": "Tenant", "metadata": meta})


def test_a_crd_is_deleted_with_all_objects_of_its_kind() -> None:
    crd: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tenants.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Tenant"}},
    }
    group, name = "apiextensions.k8s.io", "tenants.example.com"
    objects = (crd, tenant("a"), tenant("b"), tenant("c", "other.com"))
    assert lost("CustomResourceDefinition", *objects, group=group, name=name) == "and every Tenant (2 known)"
    assert lost("CustomResourceDefinition", crd, group=group, name=name) == "and every Tenant"
    assert lost("CustomResourceDefinition", group=group) == "and every object of its kind"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Namespace", "and everything in it"),
        ("Secret", "and its data"),
        ("ConfigMap", ""),
        ("PersistentVolumeClaim", "and its data (unless its volume has reclaim policy Retain)"),
        ("PersistentVolume", "and its data (unless its volume has reclaim policy Retain)"),
    ],
)
def test_what_is_lost_with_an_object(kind: str, expected: str) -> None:
    assert lost(kind) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("Retain", "(its volume keeps the data: reclaim policy Retain)"),
        ("Delete", "and its data (reclaim policy Delete)"),
    ],
)
def test_the_reclaim_policy_decides_whether_data_is_lost(policy: str, expected: str) -> None:
    volume: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "it"},
        "spec": {"persistentVolumeReclaimPolicy": policy},
    }
    assert lost("PersistentVolume", there(volume)) == expected


# --- times ---------------------------------------------------------------------------------------


def test_a_scaling_without_a_time_is_as_old_as_its_last_event() -> None:
    scale = wrote("kubectl", {"f:spec": {"f:replicas": {}}}, subresource="scale")
    del scale["time"]

    def event(name: str, at: str, reason: str) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": "shop"},
            "involvedObject": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "namespace": "shop",
                "name": "shop",
            },
            "type": "Normal",
            "reason": reason,
            "message": "Scaled up",
            "lastTimestamp": at,
        }

    events = (
        event("a", "2026-03-02T02:00:00Z", "ScalingReplicaSet"),
        event("b", "2026-03-02T02:51:00Z", "ScalingReplicaSet"),
        event("c", "2026-03-02T03:10:00Z", "Other"),
    )
    live = running(deployment(replicas=5), managed=[scale])
    _, effects = after_a_sync(*drifted(live, deployment()), *events)
    (change,) = effects.overwritten
    assert change.age == timedelta(minutes=20)


def test_the_age_of_another_field_is_that_of_its_writer() -> None:
    managed: list[Json] = [wrote("kubectl-edit", {"f:data": {"f:a": {}}}, at="2026-03-02T03:01:00Z")]
    live = there(settings("settings", data={"a": "c"}), managed=managed)
    app = synced(row("ConfigMap", "settings", "OutOfSync"), sync="OutOfSync")
    _, effects = after_a_sync(bundle(), app, in_git(settings("settings")), live)
    (change,) = effects.overwritten
    assert (change.pointer, change.before, change.after) == ("/data/a", "c", "b")
    assert (change.age, change.by_hand) == (timedelta(minutes=10), True)


def test_an_application_is_deleted_with_what_it_deployed_if_its_finalizer_says_so() -> None:
    meta: Object = {"name": "it", "namespace": "shop"}
    app: Object = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": meta}
    finalizers: Object = {**meta, "finalizers": ["resources-finalizer.argocd.argoproj.io"]}
    config = settings("settings")
    case = case_of(bundle(), synced(row("ConfigMap", "settings")), in_git(config), there(config))
    world = simulated(case, disable_auto_sync=True)
    world.before[ref_of(app).key] = app
    assert data_loss_text(world, ref_of(app)) == ""
    world.before[ref_of(app).key] = {**app, "metadata": finalizers}
    assert "all that it deployed" in data_loss_text(world, ref_of(app))


@pytest.mark.parametrize(("policy", "loses"), [("Delete", True), ("Retain", False)])
def test_claims_of_a_stateful_set_are_lost_with_it_if_its_policy_says_so(policy: str, loses: bool) -> None:
    stateful_set: Object = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "it", "namespace": "shop"},
        "spec": {
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": policy},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        },
    }
    assert bool(lost("StatefulSet", there(stateful_set), group="apps")) is loses


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        (("Retain",), "and its claims (whenDeleted: Delete); their volumes stay (reclaim policy Retain)"),
        (("Retain", "Delete"), "and its claims with their data (whenDeleted: Delete)"),
        ((), "and its claims with their data (whenDeleted: Delete)"),
    ],
)
def test_volumes_of_deleted_claims_stay_with_reclaim_policy_retain(
    policies: tuple[str, ...], expected: str
) -> None:
    spec: Object = {
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
    }
    meta: Object = {"name": "it", "namespace": "shop"}
    stateful_set: Object = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}
    objects = [there(stateful_set)]
    for number, policy in enumerate(policies):
        claim: Object = {"name": f"data-it-{number}", "namespace": "shop"}
        bound: Object = {"volumeName": f"pv-{number}"}
        volume: Object = {"persistentVolumeReclaimPolicy": policy}
        objects += [
            there({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": claim, "spec": bound}),
            there(
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolume",
                    "metadata": {"name": f"pv-{number}"},
                    "spec": volume,
                }
            ),
        ]
    assert lost("StatefulSet", *objects, group="apps") == expected
