"""Applications that go, with what they leave behind or take along."""

from __future__ import annotations

from tests.argocd.app_controller.world import SmallWorld, application, config_map, job
from whysync.argocd.app_controller.trace import TraceKind
from whysync.json_tree import Object, fields
from whysync.kubernetes.apiserver.protocol import Request


def cascading() -> Object:
    app = application(automated={"selfHeal": True})
    meta: Object = {**fields(app.get("metadata")), "finalizers": ["resources-finalizer.argocd.argoproj.io"]}
    return {**app, "metadata": meta}


def test_without_finalizers_the_objects_stay() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.minutes(1)
    world.argocd.delete("shop")
    world.minutes(10)
    assert world.argocd.applications == {}
    assert world.data("a", "x") == "1"


def test_with_the_finalizer_objects_are_deleted_and_not_self_healed() -> None:
    retained = config_map("kept", annotations={"argocd.argoproj.io/sync-options": "Delete=false"}, x="1")
    world = SmallWorld.with_objects([config_map("a", x="1"), config_map("b", wave=1), retained], cascading())
    world.minutes(1)
    world.argocd.delete("shop")
    world.minutes(10)
    assert world.argocd.applications == {}
    assert world.argocd.trace[-1].kind is TraceKind.DELETED
    assert world.data("a", "x") is None
    assert world.data("kept", "x") == "1"


def test_a_cluster_that_does_not_answer_holds_the_app() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")], cascading())
    world.minutes(1)
    world.destinations[0].unreachable = "dial tcp 10.0.0.1:443: i/o timeout"
    world.argocd.delete("shop")
    world.minutes(10)
    assert (world.condition("DeletionError") or "").endswith("i/o timeout")
    world.destinations[0].unreachable = ""
    world.minutes(10)
    assert world.argocd.applications == {}


def test_a_hook_that_fails_for_ever_is_told_once() -> None:
    bye = job("bye", "PostDelete")
    fields(bye["spec"])["backoffLimit"] = 0
    world = SmallWorld.with_objects([config_map("a", x="1"), bye], cascading())
    world.minutes(1)
    world.argocd.delete("shop")
    for _ in range(4):
        world.minutes(5)
        failed: Object = {"type": "Failed", "status": "True", "message": "no"}
        path = "/apis/batch/v1/namespaces/shop/jobs/bye/status"
        body: Object = {"status": {"conditions": [failed]}}
        world.destinations[0].api_server.send(Request(verb="merge-patch", path=path, body=body))
    world.minutes(5)
    result = [
        item.text for item in world.argocd.trace if item.kind is TraceKind.STEP and "PostDelete" in item.text
    ]
    assert result == ["waiting for PostDelete hooks to complete"]
    assert (world.condition("DeletionError") or "") == "PostDelete hook(s) failed: shop/bye"
