"""The frame that the controllers stand on: desks, claims, events, the queue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from whysync.json_tree import Object, dig, fields, items
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.server import Model
from whysync.kubernetes.controllers.client import CONTROLLERS, DEPLOYMENTS, KUBELET, PODS, Desk
from whysync.kubernetes.controllers.controller import Queue
from whysync.kubernetes.controllers.controller_manager import Life

POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}


def ground() -> Model:
    model = Model()
    space: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    assert model.send(Request(verb="create", path="/api/v1/namespaces", body=space)).ok
    return model


def ready(kind: str, status: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def test_a_status_is_owned_as_if_it_came_through_the_status_door() -> None:
    model, other = ground(), ground()
    desk = Desk(model, KUBELET)
    pod = desk.create(POD)
    same = Desk(other, KUBELET).create(POD)
    statuses: list[Object] = [
        {"phase": "Pending", "conditions": [ready("Ready", "False")], "qosClass": "BestEffort"},
        {"phase": "Running", "conditions": [ready("Ready", "True")], "podIP": "10.0.0.1"},
        {"phase": "Running", "conditions": [ready("Other", "True")], "podIP": "10.0.0.2"},
    ]
    for told in statuses:
        pod = desk.update_status(pod, told)
        path = "/api/v1/namespaces/shop/pods/one/status"
        body: Object = {**same, "status": told}
        same = other.send(Request(verb="update", path=path, body=body, manager=KUBELET)).body or {}
        assert dig(pod, "metadata", "managedFields") == dig(same, "metadata", "managedFields")


def test_a_status_that_says_nothing_new_is_not_written() -> None:
    desk = Desk(ground(), KUBELET)
    pod = desk.create(POD)
    count = len(desk.model.store.journal)
    assert desk.update_status(pod, fields(pod.get("status"))) is desk.get(PODS, "shop", "one")
    assert len(desk.model.store.journal) == count


def test_the_same_event_is_counted_and_a_flood_is_cut() -> None:
    desk = Desk(ground(), CONTROLLERS)
    pod = desk.create(POD)
    for _ in range(40):
        desk.event(pod, "Warning", "BackOff", "Back-off restarting failed container", "kubelet")
    found = desk.list(("", "events"), "shop")
    assert [one.get("count") for one in found] == [25]
    desk.model.clock.advance(300)
    desk.event(pod, "Warning", "BackOff", "Back-off restarting failed container", "kubelet")
    (event,) = desk.list(("", "events"), "shop")
    assert event.get("count") == 41  # those that were not told are counted too
    assert event.get("lastTimestamp") != event.get("firstTimestamp")


def test_an_event_is_the_same_whatever_the_version_of_its_object() -> None:
    desk = Desk(ground(), KUBELET)
    pod = desk.create(POD)
    for phase in ("Pending", "Running"):
        desk.event(pod, "Warning", "BackOff", "Back-off restarting failed container", "kubelet")
        pod = desk.update_status(pod, {"phase": phase})
    desk.event(pod, "Normal", "Pulled", "one", "kubelet", field_path="spec.containers{a}")
    desk.event(pod, "Normal", "Pulled", "one", "kubelet", field_path="spec.containers{b}")
    told = [(one.get("reason"), one.get("count")) for one in desk.list(("", "events"), "shop")]
    assert sorted(told, key=str) == [("BackOff", 2), ("Pulled", 1), ("Pulled", 1)]


def test_a_flood_of_one_type_leaves_room_for_the_other() -> None:
    desk = Desk(ground(), KUBELET)
    pod = desk.create(POD)
    for _ in range(26):
        desk.event(pod, "Warning", "BackOff", "Back-off restarting failed container", "kubelet")
    desk.event(pod, "Normal", "Pulled", "there it is", "kubelet")
    assert [one.get("reason") for one in desk.list(("", "events"), "shop")] == ["BackOff", "Pulled"]


def test_events_that_differ_in_their_message_alone_are_combined() -> None:
    desk = Desk(ground(), CONTROLLERS)
    pod = desk.create(POD)
    for number in range(12):
        desk.event(pod, "Warning", "Failed", f"no {number}", "kubelet")
    messages = [one.get("message") for one in desk.list(("", "events"), "shop")]
    assert messages[-1] == "(combined from similar events): no 11"
    assert len(messages) == 10


def test_a_queue_gives_every_key_once_and_the_earliest_date() -> None:
    queue, start = Queue(), datetime(2026, 1, 1, tzinfo=UTC)
    queue.add(("a", "b"))
    queue.add(("a", "b"))
    queue.add_at(("a", "c"), start + timedelta(seconds=9))
    queue.add_at(("a", "c"), start + timedelta(seconds=3))
    assert queue.taken(start) == [("a", "b")]
    assert queue.due() == start + timedelta(seconds=3)
    assert queue.taken(start + timedelta(seconds=4)) == [("a", "c")]
    assert queue.due() is None


def test_life_gives_a_cluster_nodes_and_rests() -> None:
    life = Life(ground(), nodes=2)
    life.act()
    assert not life.act()
    assert len(items([*Desk(life.model, KUBELET).list(("", "nodes"))])) == 2
    assert Desk(life.model, KUBELET).list(DEPLOYMENTS) == []
