"""Small things that a world hangs on: pods that were not ready, operators that report, what is not there."""

from __future__ import annotations

from datetime import timedelta

from tests.proofs.worlds import bundle, deployment, in_git, large_app, running, settings, synced, there
from tests.situations import case_of, row
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.ref import Key
from whysync.proofs.simulated_case import simulated


def test_pods_that_were_not_ready_stay_so() -> None:
    """Three pods by the status, one of them ready: the app does not heal by being loaded."""
    live = running(deployment(replicas=3))
    fields(live["status"]).update({"readyReplicas": 1, "availableReplicas": 1, "unavailableReplicas": 2})
    app = synced(row("Deployment", "shop", health={"status": "Progressing"}))
    world = simulated(case_of(bundle(), app, in_git(deployment(replicas=3)), live))
    pods = [obj for key, obj in world.objects().items() if key.kind == "Pod"]
    ready = [dig(pod, "status", "containerStatuses", 0, "ready") for pod in pods]
    assert sorted(map(bool, ready)) == [False, False, True]
    world.run(timedelta(minutes=5))
    assert world.sync_and_health[1] != "Healthy"


def test_an_operator_sees_what_a_sync_changed() -> None:
    """Without it, a check that compares generations would wait for ever."""
    body: Object = {
        "apiVersion": "db.example.com/v1",
        "kind": "Database",
        "metadata": {"name": "main", "namespace": "shop"},
        "spec": {"size": 3},
    }
    live = there({**body, "spec": {"size": 1}, "status": {"observedGeneration": 4, "phase": "Ready"}})
    fields(live["metadata"])["generation"] = 4
    entry: Object = {**row("Database", "main", "OutOfSync"), "group": "db.example.com"}
    world = simulated(case_of(bundle(), synced(entry, sync="OutOfSync"), in_git(body), live))
    world.sync()
    world.run(timedelta(minutes=1))
    status = world.objects()[Key("db.example.com", "Database", "shop", "main")]["status"]
    assert status == {"observedGeneration": 5, "phase": "Ready"}


def test_an_object_missing_from_a_listing_does_not_exist() -> None:
    """Other Secrets of the namespace were collected: so this one does not exist."""
    desired = deployment()
    container = fields(dig(desired, "spec", "template", "spec", "containers", 0))
    container["envFrom"] = [{"secretRef": {"name": "db"}}]
    other: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "other", "namespace": "shop"},
        "data": {"a": "Yg=="},
    }
    app = synced(row("Deployment", "shop", "OutOfSync", health={"status": "Missing"}), sync="OutOfSync")
    listed = simulated(case_of(bundle(), app, in_git(desired), there(other)))
    assert Key("", "Secret", "shop", "db") not in listed.objects()
    unlisted = simulated(case_of(bundle(), app, in_git(desired), there(settings("other"))))
    assert Key("", "Secret", "shop", "db") in unlisted.objects()


def test_what_every_sync_writes_anew_is_in_the_world() -> None:
    app, *objects = large_app(30, 1)[1:]
    for obj in objects:
        meta = fields(obj["metadata"])
        if meta["name"] == "settings-5":
            options = {"argocd.argoproj.io/sync-options": "Replace=true"}
            meta["annotations"] = {**fields(meta.get("annotations")), **options}
    scope = simulated(case_of(bundle(), app, *objects)).scope
    assert {desired_object.ref.name for desired_object in scope.desired} == {"shop-0", "settings-5"}
