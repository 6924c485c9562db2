"""DaemonSets: a pod on every node that takes it."""

from __future__ import annotations

from tests.kubernetes.controllers.playground import Playground
from tests.kubernetes.controllers.workloads import counts, image_set, images, patched, pods_of, workload
from whysync.json_tree import Json, Object, dig, text
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.kubernetes.controllers.pod_control import is_active, is_ready

PATH = "/apis/apps/v1/namespaces/shop/daemonsets/web"


def daemons(play: Playground) -> list[str]:
    return sorted(text(dig(pod, "spec", "nodeName")) for pod in pods_of(play, "web"))


def live_daemon_set(play: Playground) -> Object:
    return play.get("daemonsets", "web", group="apps")


def labelled(play: Playground, node: str, label: Json) -> None:
    patched(play, f"/api/v1/nodes/{node}", {"metadata": {"labels": {"disk": label}}})


def test_every_node_gets_a_pod() -> None:
    play = Playground()
    play.create(workload("DaemonSet"))
    play.run(0)
    assert play.health("daemonsets", group="apps") == "Progressing"
    play.run(30)
    assert daemons(play) == ["node-1", "node-2", "node-3"]
    assert counts(
        live_daemon_set(play), "desiredNumberScheduled", "numberReady", "updatedNumberScheduled"
    ) == (3, 3, 3)
    assert play.health("daemonsets", group="apps") == "Healthy"


def test_nodes_come_and_go_by_their_labels() -> None:
    play = Playground()
    labelled(play, "node-2", "fast")
    play.create(workload("DaemonSet", pod={"nodeSelector": {"disk": "fast"}}))
    play.run(30)
    assert daemons(play) == ["node-2"]
    labelled(play, "node-1", "fast")
    labelled(play, "node-2", None)
    play.run(60)
    assert daemons(play) == ["node-1"]


def test_a_taint_keeps_new_pods_away() -> None:
    play = Playground()
    taints: list[Json] = [{"key": "team", "value": "db", "effect": "NoSchedule"}]
    patched(play, "/api/v1/nodes/node-3", {"spec": {"taints": taints}})
    play.create(workload("DaemonSet"))
    play.run(30)
    assert daemons(play) == ["node-1", "node-2"]
    assert counts(live_daemon_set(play), "desiredNumberScheduled") == (2,)


def test_an_update_leaves_all_but_one_running() -> None:
    play = Playground()
    play.create(workload("DaemonSet"))
    play.run(30)
    image_set(play, "daemonsets", "nginx:2")
    least = 3
    for _ in range(240):
        play.run(1)
        least = min(least, sum(1 for pod in pods_of(play, "web") if is_active(pod) and is_ready(pod)))
    assert least == 2
    assert images(pods_of(play, "web")) == {"nginx:2"}
    assert play.health("daemonsets", group="apps") == "Healthy"


def test_a_surge_starts_the_new_one_first() -> None:
    play = Playground()
    how: Object = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    play.create(workload("DaemonSet", updateStrategy=how))
    play.run(30)
    image_set(play, "daemonsets", "nginx:2")
    least = 3
    for _ in range(240):
        play.run(1)
        least = min(least, sum(1 for pod in pods_of(play, "web") if is_active(pod) and is_ready(pod)))
    assert least == 3
    assert images(pods_of(play, "web")) == {"nginx:2"}


def test_a_broken_update_stops_at_the_first_node() -> None:
    play = Playground(PodBehavior(image="*:broken", ready_seconds=None))
    play.create(workload("DaemonSet"))
    play.run(30)
    image_set(play, "daemonsets", "nginx:broken")
    play.run(600)
    assert sum(1 for pod in pods_of(play, "web") if images([pod]) == {"nginx:1"}) == 2
    assert play.health("daemonsets", group="apps") == "Progressing"


def test_on_delete_waits() -> None:
    play = Playground()
    play.create(workload("DaemonSet", updateStrategy={"type": "OnDelete"}))
    play.run(30)
    image_set(play, "daemonsets", "nginx:2")
    play.run(60)
    assert images(pods_of(play, "web")) == {"nginx:1"}
