"""By which signs a symptom would show on a model, and how they are worded."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from tests.proofs.worlds import bundle, deployment, in_git, running, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.symptom import APP_DIFFERS, APP_UNHEALTHY, OPERATION, SymptomId, SymptomKind
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.controllers.behavior import Behavior, PodBehavior
from whysync.proofs.observations import (
    describe_symptom,
    key_of,
    live_object,
    observable_symptoms,
    observed_symptoms,
    unobserved_images,
)
from whysync.proofs.simulated_case import Extra, simulated

WELL: Object = {"status": "Healthy"}


@pytest.mark.parametrize(
    ("sign", "expected"),
    [
        (APP_DIFFERS, "the app is OutOfSync"),
        (APP_UNHEALTHY, "the app is not healthy"),
        (OPERATION, "the sync does not succeed"),
        (SymptomId.condition("SyncError"), "condition SyncError"),
        (SymptomId.differs(Key("apps", "Deployment", "shop", "web")), "Deployment shop/web differs"),
        (SymptomId.missing(Key("", "ConfigMap", "shop", "settings")), "ConfigMap shop/settings is missing"),
        (SymptomId.extra(Key("", "Namespace", "", "old")), "Namespace old requires pruning"),
        (SymptomId.unhealthy(Key("", "Node", "", "one")), "Node one is not healthy"),
        (SymptomId.result(Key("batch", "Job", "shop", "migrate")), "Job shop/migrate fails to sync"),
    ],
)
def test_description_of_a_symptom(sign: SymptomId, expected: str) -> None:
    assert describe_symptom(sign) == expected


def test_an_app_that_is_well_has_none() -> None:
    config = settings("settings")
    case = case_of(bundle(), synced(row("ConfigMap", "settings")), in_git(config), there(config))
    world = simulated(case, disable_auto_sync=True)
    world.simulation.timeline.settle()
    assert observed_symptoms(world) == frozenset()


def test_each_row_has_its_own() -> None:
    rows = (
        row("ConfigMap", "changed", "OutOfSync"),
        row("ConfigMap", "gone", "OutOfSync", health={"status": "Missing"}),
        row("ConfigMap", "old", "OutOfSync", requiresPruning=True),
        row("ConfigMap", "settings"),
    )
    objects = (
        in_git(settings("changed")),
        there(settings("changed", data={"a": "c"})),
        in_git(settings("gone")),
        there(settings("old")),
        in_git(settings("settings")),
        there(settings("settings")),
    )
    case = case_of(bundle(), synced(*rows, sync="OutOfSync"), *objects)
    world = simulated(case, disable_auto_sync=True)
    world.simulation.timeline.settle()
    shown = {"differs:/ConfigMap/shop/changed", "missing:/ConfigMap/shop/gone", "extra:/ConfigMap/shop/old"}
    assert observed_symptoms(world) == {"differs", *shown}
    assert live_object(world, rows[1]) is None
    assert key_of(rows[0]).name == "changed"


def test_a_row_that_is_unwell() -> None:
    live = running(deployment())
    fields(live["status"])["conditions"] = [
        {
            "type": "Progressing",
            "status": "False",
            "reason": "ProgressDeadlineExceeded",
            "message": "too slow",
        }
    ]
    fields(live["status"]).update({"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2})
    app = synced(row("Deployment", "shop", health={"status": "Degraded"}))
    fields(fields(app["status"])["health"])["status"] = "Degraded"
    case = case_of(bundle(), app, in_git(deployment()), live)
    world = simulated(case, disable_auto_sync=True)
    world.simulation.timeline.settle()
    assert observed_symptoms(world) == {"unhealthy", "unhealthy:apps/Deployment/shop/shop"}


EVENT: Object = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "shop-1.1", "namespace": "shop"},
    "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "shop-1"},
    "type": "Warning",
    "reason": "FailedScheduling",
    "message": "0/3 nodes are available: 3 Insufficient cpu.",
    "lastTimestamp": "2026-03-02T03:10:00Z",
}


def test_events_of_pods_show_nothing_and_unknown_symptoms_neither() -> None:
    app = synced(row("Deployment", "shop", health={"status": "Degraded"}))
    case = case_of(bundle(), app, running(deployment()), EVENT)
    events = [symptom.id for symptom in case.symptoms if symptom.kind is SymptomKind.EVENT]
    assert events
    assert observable_symptoms(case, [*events, SymptomId(SymptomKind.LOG, detail="nobody")]) == frozenset()
    unhealthy = SymptomId.unhealthy(Key("apps", "Deployment", "shop", "shop"))
    assert observable_symptoms(case, [unhealthy]) == {unhealthy}


# --- images that a proof takes for granted -------------------------------------------------------


def migration(image: str, *, policy: str) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "migrate",
            "namespace": "shop",
            "annotations": {
                "argocd.argoproj.io/hook": "PreSync",
                "argocd.argoproj.io/hook-delete-policy": policy,
            },
        },
        "spec": {
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "migrate", "image": image}]}
            }
        },
    }


@pytest.mark.parametrize("policy", ["HookSucceeded", "BeforeHookCreation"])
def test_a_hook_that_was_deleted_after_its_success_did_run(policy: str) -> None:
    """The sync depends on the migration, whether or not its Job still exists afterwards."""
    config = settings("settings")
    case = case_of(
        bundle(),
        synced(row("ConfigMap", "settings")),
        in_git(config),
        there(config),
        in_git(migration("migrate:2", policy=policy)),
    )
    world = simulated(case, disable_auto_sync=True)
    assert unobserved_images(world) == []
    world.sync()
    world.run(timedelta(minutes=5))
    assert world.operation["phase"] == "Succeeded"
    assert any(key.kind == "Pod" for key in world.objects()) == (policy == "BeforeHookCreation")
    assert unobserved_images(world) == ["migrate:2"]


def test_an_image_that_only_fails_in_the_simulation_is_not_relied_on() -> None:
    """A fix that replaces the image does not depend on the pods that it replaced."""
    desired, live = (
        deployment(image="shop:broken", replicas=1),
        running(deployment(image="shop:1", replicas=1)),
    )
    case = case_of(
        bundle(), synced(row("Deployment", "shop", "OutOfSync"), sync="OutOfSync"), in_git(desired), live
    )

    def broken(behavior: Behavior) -> Behavior:
        fails = PodBehavior(image="*broken", exit_code=1, ready_seconds=None, runs_seconds=1)
        return replace(behavior, pods=(fails, *behavior.pods))

    world = simulated(case, disable_auto_sync=True, extra=Extra(behavior=broken))
    world.sync()
    world.run(timedelta(minutes=2))
    assert unobserved_images(world) == ["shop:broken"]
    world.push([in_git(deployment(image="shop:2", replicas=1))])
    world.simulation.argocd.refresh(world.app, hard=False)
    world.sync()
    world.run(timedelta(minutes=5))
    assert unobserved_images(world) == ["shop:2"]
