"""By which signs a symptom would show on a model, and how they are worded."""

from __future__ import annotations

import pytest

from tests.proofs.worlds import bundle, deployment, in_git, running, settings, synced, there
from tests.situations import case_of, row
from whysync.json_tree import Object, fields
from whysync.proofs.observations import in_words, key_of, live_object, signs_for, signs_of
from whysync.proofs.world import simulated

WELL: Object = {"status": "Healthy"}


@pytest.mark.parametrize(
    ("sign", "words"),
    [
        ("differs", "the app is OutOfSync"),
        ("unhealthy", "the app is not healthy"),
        ("operation", "the sync does not succeed"),
        ("something", "something"),
        ("condition:SyncError", "condition SyncError"),
        ("differs:apps/Deployment/shop/web", "Deployment shop/web differs"),
        ("missing:/ConfigMap/shop/settings", "ConfigMap shop/settings is missing"),
        ("extra:/Namespace//old", "Namespace old is extra"),
        ("unhealthy:/Node/one", "Node one is not healthy"),
        ("result:batch/Job/shop/migrate", "Job shop/migrate fails to sync"),
        ("other:batch/Job/shop/migrate", "other:batch/Job/shop/migrate"),
    ],
)
def test_words(sign: str, words: str) -> None:
    assert in_words(sign) == words


def test_an_app_that_is_well_has_none() -> None:
    config = settings("settings")
    case = case_of(bundle(), synced(row("ConfigMap", "settings")), in_git(config), there(config))
    world = simulated(case, quiet=True)
    world.simulation.timeline.settle()
    assert signs_of(world) == frozenset()


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
    world = simulated(case, quiet=True)
    world.simulation.timeline.settle()
    shown = {"differs:/ConfigMap/shop/changed", "missing:/ConfigMap/shop/gone", "extra:/ConfigMap/shop/old"}
    assert signs_of(world) == {"differs", *shown}
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
    world = simulated(case, quiet=True)
    world.simulation.timeline.settle()
    assert signs_of(world) == {"unhealthy", "unhealthy:apps/Deployment/shop/shop"}


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
    events = [symptom.id for symptom in case.symptoms if symptom.id.startswith("event:")]
    assert events
    assert signs_for(case, [*events, "nobody:knows"]) == frozenset()
    assert signs_for(case, ["unhealthy:apps/Deployment/shop/shop"]) == {"unhealthy:apps/Deployment/shop/shop"}
