"""What a sync did to the app's objects, read off the model: whose work it overwrote, what it made, restarted,
scaled and took over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.proofs.worlds import bundle, deployment, in_git, running, settings, synced, there, wrote
from tests.situations import case_of, row
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.field_writers import Writer, WriterKind
from whysync.proofs.simulated_case import SimulatedCase, simulated
from whysync.proofs.sync_effects import Effects, FieldChange, effects_of

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


def drifted(live: Object, wanted: Object) -> tuple[Object, ...]:
    app = synced(row("Deployment", "shop", "OutOfSync", health=WELL), sync="OutOfSync")
    return bundle(), app, in_git(wanted), live


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
    (one,) = effects.overwritten
    assert (one.pointer, one.before, one.after) == ("/spec/replicas", 5, 2)
    assert one.age == timedelta(minutes=30)
    assert effects.scaled == ((SHOP, 5, 2),)


# --- what was made, restarted, run ---------------------------------------------------------------


def test_a_new_template_restarts_and_new_words_do_not() -> None:
    _, effects = after_a_sync(
        *drifted(running(deployment(replicas=3)), deployment(image="shop:2", replicas=3))
    )
    assert effects.restarted == ((SHOP, 3),)
    assert effects.scaled == ()
    wanted = deployment()
    fields(wanted["metadata"])["labels"] = {"team": "shop"}
    _, effects = after_a_sync(*drifted(running(deployment()), wanted))
    assert [one.pointer for one in effects.overwritten] == ["/metadata/labels"]
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


def test_what_bears_another_mark_is_taken_over() -> None:
    config = settings("settings", data={"a": "other"})
    fields(config["metadata"])["annotations"] = {TRACKING: "billing:/ConfigMap:shop/settings"}
    app = synced(row("ConfigMap", "settings", "OutOfSync"), sync="OutOfSync")
    wanted = in_git(settings("settings"))
    _, effects = after_a_sync(bundle(), app, wanted, there(config))
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
