"""The frame that the controllers stand on: clients, claims, events, the queue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from whysync.json_tree import Object, dig, fields, items
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.client import CONTROLLERS, DEPLOYMENTS, KUBELET, PODS, Client
from whysync.kubernetes.controllers.controller import Queue
from whysync.kubernetes.controllers.controller_manager import ControllerManager

POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}


def ground() -> ApiServer:
    model = ApiServer()
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
    client = Client(model, KUBELET)
    pod = client.create(POD)
    same = Client(other, KUBELET).create(POD)
    statuses: list[Object] = [
        {"phase": "Pending", "conditions": [ready("Ready", "False")], "qosClass": "BestEffort"},
        {"phase": "Running", "conditions": [ready("Ready", "True")], "podIP": "10.0.0.1"},
        {"phase": "Running", "conditions": [ready("Other", "True")], "podIP": "10.0.0.2"},
    ]
    for status in statuses:
        pod = client.update_status(pod, status)
        path = "/api/v1/namespaces/shop/pods/one/status"
        body: Object = {**same, "status": status}
        same = other.send(Request(verb="update", path=path, body=body, manager=KUBELET)).body or {}
        assert dig(pod, "metadata", "managedFields") == dig(same, "metadata", "managedFields")


def test_a_status_that_says_nothing_new_is_not_written() -> None:
    client = Client(ground(), KUBELET)
    pod = client.create(POD)
    count = len(client.api_server.store.journal)
    assert client.update_status(pod, fields(pod.get("status"))) is client.get(PODS, "shop", "one")
    assert len(client.api_server.store.journal) == count


def test_the_same_event_is_counted_and_a_flood_is_cut() -> None:
    client = Client(ground(), CONTROLLERS)
    pod = client.create(POD)
    for _ in range(40):
        client.event(pod, "Warning", "BackOff", "Back-off restarting failed container", "kubelet")
    result = client.list(("", "events"), "shop")
    assert [item.get("count") for item in result] == [25]
    client.api_server.clock.advance(300)
    client.event(pod, "Warning", "BackOff", "Back-off restarting failed container", "kubelet")
    (event,) = client.list(("", "events"), "shop")
    assert event.get("count") == 41  # those that were not told are counted too
    assert event.get("lastTimestamp") != event.get("firstTimestamp")


def test_an_event_is_the_same_whatever_the_version_of_its_object() -> None:
    client = Client(ground(), KUBELET)
    pod = client.create(POD)
    for phase in ("Pending", "Running"):
        client.event(pod, "Warning", "BackOff", "Back-off restarting failed container", "kubelet")
        pod = client.update_status(pod, {"phase": phase})
    client.event(pod, "Normal", "Pulled", "one", "kubelet", field_path="spec.containers{a}")
    client.event(pod, "Normal", "Pulled", "one", "kubelet", field_path="spec.containers{b}")
    result = [(item.get("reason"), item.get("count")) for item in client.list(("", "events"), "shop")]
    assert sorted(result, key=str) == [("BackOff", 2), ("Pulled", 1), ("Pulled", 1)]


def test_a_flood_of_one_type_leaves_room_for_the_other() -> None:
    client = Client(ground(), KUBELET)
    pod = client.create(POD)
    for _ in range(26):
        client.event(pod, "Warning", "BackOff", "Back-off restarting failed container", "kubelet")
    client.event(pod, "Normal", "Pulled", "there it is", "kubelet")
    assert [item.get("reason") for item in client.list(("", "events"), "shop")] == ["BackOff", "Pulled"]


def test_events_that_differ_in_their_message_alone_are_combined() -> None:
    client = Client(ground(), CONTROLLERS)
    pod = client.create(POD)
    for number in range(12):
        client.event(pod, "Warning", "Failed", f"no {number}", "kubelet")
    messages = [item.get("message") for item in client.list(("", "events"), "shop")]
    assert messages[-1] == "(combined from similar events): no 11"
    assert len(messages) == 10


def test_a_queue_gives_every_key_once_and_the_earliest_date() -> None:
    queue, start = Queue(), datetime(2026, 1, 1, tzinfo=UTC)
    queue.add(("a", "b"))
    queue.add(("a", "b"))
    queue.add_at(("a", "c"), start + timedelta(seconds=9))
    queue.add_at(("a", "c"), start + timedelta(seconds=3))
    assert queue.pop_due(start) == [("a", "b")]
    assert queue.next_wakeup() == start + timedelta(seconds=3)
    assert queue.pop_due(start + timedelta(seconds=4)) == [("a", "c")]
    assert queue.next_wakeup() is None


def test_life_gives_a_cluster_nodes_and_rests() -> None:
    life = ControllerManager(ground(), nodes=2)
    life.reconcile()
    assert not life.reconcile()
    assert len(items([*Client(life.api_server, KUBELET).list(("", "nodes"))])) == 2
    assert Client(life.api_server, KUBELET).list(DEPLOYMENTS) == []
