"""Pods as they were seen: each sad state is played again by the same template, and by no other."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.proofs.worlds import bundle, deployment, in_git, running, synced
from tests.situations import case_of, row
from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object, copy_object, dig, fields
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.proofs.pod_behavior import behavior_of, with_restarted_containers
from whysync.proofs.simulated_case import SimulatedCase, simulated

HASH = "5d4f8c7b9"


def pod(state: Object, *, ready: bool = False, labels: Object | None = None, **status: Json) -> Object:
    container: Object = {"name": "main", "image": "shop:1", "ready": ready, "restartCount": 3, "state": state}
    more: Object = {"phase": "Running", **status}
    if "containerStatuses" not in status:
        more["containerStatuses"] = [{**container, **fields(state.get("more"))}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"shop-{HASH}-x2x2x",
            "namespace": "shop",
            "uid": "pod",
            "resourceVersion": "1",
            "labels": labels if labels is not None else {"app": "shop", "pod-template-hash": HASH},
        },
        "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "shop:1"}]},
        "status": more,
    }


def case_with(*objects: Object) -> Case:
    return case_of(bundle(), synced(row("Deployment", "shop", health={"status": "Degraded"})), *objects)


def part(one: Object) -> PodBehavior | None:
    parts = behavior_of(case_with(one), [one], ()).pods
    assert len(parts) <= 1
    return parts[0] if parts else None


def test_a_pod_that_runs_needs_no_part() -> None:
    assert part(pod({"running": {"startedAt": "2026-03-01T00:00:00Z"}}, ready=True)) is None


def test_a_crash_loop_goes_on_for_the_same_template() -> None:
    crashed: Object = {
        "waiting": {"reason": "CrashLoopBackOff"},
        "more": {"lastState": {"terminated": {"exitCode": 3, "reason": "Error"}}},
    }
    found = part(pod(crashed))
    assert found is not None
    assert (found.exit_code, found.image, dict(found.labels)) == (3, "shop:1", {"pod-template-hash": HASH})
    assert found.runs_seconds is not None


def test_a_killed_container_is_killed_again() -> None:
    killed: Object = {
        "waiting": {"reason": "CrashLoopBackOff"},
        "more": {"lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
    }
    found = part(pod(killed))
    assert found is not None
    assert (found.exit_code, found.reason) == (137, "OOMKilled")


@pytest.mark.parametrize(
    ("message", "pull"),
    [
        ("Back-off pulling image: manifest unknown", "missing"),
        ("pull access denied, repository does not exist or may require authorization", "denied"),
        ("failed to authorize: unauthorized", "denied"),
    ],
)
def test_an_image_stays_out_of_reach(message: str, pull: str) -> None:
    found = part(pod({"waiting": {"reason": "ImagePullBackOff", "message": message}}))
    assert found is not None
    assert found.pull == pull


def test_who_was_never_ready_is_not_ready() -> None:
    found = part(pod({"running": {"startedAt": "2026-03-02T03:00:00Z"}}))
    assert found is not None
    assert found.ready_seconds is None


def test_who_started_a_moment_ago_may_become_ready() -> None:
    young = pod({"running": {"startedAt": "2026-03-02T03:10:30Z"}})
    assert part(young) is None
    again = with_restarted_containers(young, case_with(young).now)
    assert "waiting" in fields(dig(again, "status", "containerStatuses", 0, "state"))
    old = pod({"running": {"startedAt": "2026-03-02T03:00:00Z"}})
    assert with_restarted_containers(old, case_with(old).now) is old


def test_no_node_takes_it() -> None:
    words = "0/3 nodes are available: 3 Insufficient cpu."
    waits = pod({}, phase="Pending", containerStatuses=[])
    fields(waits["spec"]).pop("nodeName")
    fields(waits["status"])["conditions"] = [{"type": "PodScheduled", "status": "False", "message": words}]
    found = part(waits)
    assert found is not None
    assert found.unschedulable == words


def test_what_a_missing_claim_explains_the_model_finds_itself() -> None:
    waits = pod({}, phase="Pending", containerStatuses=[])
    fields(waits["spec"]).pop("nodeName")
    fields(waits["status"])["conditions"] = [
        {
            "type": "PodScheduled",
            "status": "False",
            "message": '0/3 nodes are available: persistentvolumeclaim "data" not found.',
        }
    ]
    assert part(waits) is None


def test_pods_of_one_template_are_one_part() -> None:
    crashed: Object = {
        "waiting": {"reason": "CrashLoopBackOff"},
        "more": {"lastState": {"terminated": {"exitCode": 3}}},
    }
    one, other = pod(crashed), pod(crashed)
    fields(other["metadata"])["name"] = "another"
    assert len(behavior_of(case_with(one, other), [one, other], ()).pods) == 1


# --- in a world ----------------------------------------------------------------------------------


def _world(image: str) -> SimulatedCase:
    """A Deployment whose pods crash, and what Git wants by now."""
    live = running(deployment(replicas=1))
    fields(live["status"]).pop("readyReplicas")
    fields(live["status"]).pop("availableReplicas")
    template = fields(dig(live, "spec", "template"))
    labels: Object = {"app": "shop", "pod-template-hash": HASH}
    made: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"shop-{HASH}",
            "namespace": "shop",
            "uid": "set",
            "resourceVersion": "2",
            "generation": 1,
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "ownerReferences": [
                {"kind": "Deployment", "name": "shop", "uid": "uid-shop", "controller": True}
            ],
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {**copy_object(template), "metadata": {"labels": labels}},
        },
        "status": {"replicas": 1, "observedGeneration": 1},
    }
    crashed = pod(
        {
            "waiting": {"reason": "CrashLoopBackOff"},
            "more": {"lastState": {"terminated": {"exitCode": 1}}},
        }
    )
    fields(crashed["metadata"])["ownerReferences"] = [
        {"kind": "ReplicaSet", "name": f"shop-{HASH}", "uid": "set", "controller": True}
    ]
    status = "Synced" if image == "shop:1" else "OutOfSync"
    app = synced(row("Deployment", "shop", status, health={"status": "Degraded"}), sync=status)
    fields(fields(app["status"])["health"])["status"] = "Degraded"
    case = case_of(bundle(), app, in_git(deployment(image=image, replicas=1)), live, made, crashed)
    return simulated(case)


def test_a_sync_of_the_same_template_does_not_mend_it() -> None:
    world = _world("shop:1")
    world.sync()
    world.run(timedelta(minutes=15))
    assert world.sync_and_health[1] != "Healthy"


def test_another_image_is_taken_to_run() -> None:
    world = _world("shop:2")
    world.sync()
    world.run(timedelta(minutes=15))
    assert world.sync_and_health == ("Synced", "Healthy")
