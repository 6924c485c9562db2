"""Several clusters, several sources, other namespaces, settings: what one Argo CD looks after."""

from __future__ import annotations

from datetime import timedelta

from tests.argocd.app_controller.world import (
    START,
    URL,
    SmallWorld,
    application,
    config_map,
    restored_simulation,
)
from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.repo_server.repository import Folder, GitRepositories, GitRepository
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.world import World, WorldCluster
from whysync.facts.simulated import snapshot_of
from whysync.json_tree import Object, dig, fields, items
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.clock import Clock

FAR = "https://far.example.com:6443"


def data(model: ApiServer, name: str) -> Object | None:
    answer = model.send(Request(verb="get", path=f"/api/v1/namespaces/shop/configmaps/{name}"))
    return fields((answer.body or {}).get("data")) if answer.ok else None


def test_apps_go_to_the_cluster_that_they_name() -> None:
    clock = Clock(START)
    git = GitRepository(url=URL, clock=clock)
    git.push({"apps/shop": [config_map("a", x="1")], "apps/far": [config_map("b", x="2")]})
    away = application(name="far", path="apps/far", automated={})
    spec: Object = {**fields(away.get("spec")), "destination": {"name": "far", "namespace": "shop"}}
    simulation = Simulation(
        World(
            clock=clock,
            repository=GitRepositories([git]),
            applications=(application(automated={}), {**away, "spec": spec}),
            clusters=(WorldCluster(), WorldCluster(server=FAR, name="far")),
        )
    )
    near, far = (destination.api_server for destination in simulation.destinations)
    simulation.run(timedelta(minutes=1))
    assert (data(near, "a"), data(near, "b")) == ({"x": "1"}, None)
    assert (data(far, "a"), data(far, "b")) == (None, {"x": "2"})
    snapshot = snapshot_of(simulation)
    assert {live_object.cluster for live_object in snapshot.live} == {"in-cluster", "far"}
    assert [setting.ref.name for setting in snapshot.settings if setting.ref.kind == "Secret"] == [
        "cluster-far.example.com"
    ]
    assert simulation.argocd.sync_and_health("far") == ("Synced", "Healthy")


def test_an_app_of_two_sources_has_two_revisions() -> None:
    clock = Clock(START)
    item = GitRepository(url=URL, clock=clock)
    two = GitRepository(url="https://git.example.com/team/values.git", clock=clock)
    first = item.push({"apps/shop": [config_map("a", x="1")]})
    second = two.push({"more": Folder(manifests=(config_map("b", x="2"),), source_type="Kustomize")})
    app = application(automated={})
    sources: list[object] = [
        {"repoURL": URL, "path": "apps/shop", "targetRevision": "main"},
        {"repoURL": two.url, "path": "more", "targetRevision": "main"},
    ]
    spec = {key: value for key, value in fields(app.get("spec")).items() if key != "source"}
    with_sources: Object = {**app, "spec": {**spec, "sources": sources}}  # pyright: ignore[reportAssignmentType]  (a list of dicts is Json)
    simulation = Simulation(
        World(clock=clock, repository=GitRepositories([item, two]), applications=(with_sources,))
    )
    simulation.run(timedelta(minutes=5))
    status = simulation.argocd.status("shop")
    assert simulation.argocd.sync_and_health("shop") == ("Synced", "Healthy")
    assert dig(status, "sync", "revisions") == [first, second]
    assert status.get("sourceTypes") == ["Directory", "Kustomize"]
    assert len([m for m in simulation.argocd.trace if m.kind is TraceKind.STARTED]) == 1


def in_namespace(namespace: str) -> Object:
    app = application(automated={})
    meta: Object = {**fields(app.get("metadata")), "namespace": namespace}
    return {**app, "metadata": meta}


def test_an_app_in_another_namespace_is_left_alone_unless_it_is_enabled() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")], in_namespace("team-a"))
    world.minutes(10)
    assert world.argocd.status("shop") == {}
    params: Object = {
        "metadata": {"name": "argocd-cmd-params-cm"},
        "data": {"application.namespaces": "team-*"},
    }
    project: Object = {
        "metadata": {"name": "default"},
        "spec": {
            "sourceRepos": ["*"],
            "sourceNamespaces": ["team-a"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        },
    }
    world = SmallWorld.with_objects(
        [config_map("a", x="1")], in_namespace("team-a"), config_maps=(params,), projects=(project,)
    )
    world.minutes(1)
    assert world.codes == ("Synced", "Healthy")
    result = world.get("/api/v1/namespaces/shop/configmaps/a")
    mark = dig(result, "metadata", "annotations", "argocd.argoproj.io/tracking-id")
    assert mark == "team-a_shop:/ConfigMap:shop/a"


def test_an_excluded_kind_is_neither_compared_nor_applied() -> None:
    cm: Object = {
        "metadata": {"name": "argocd-cm"},
        "data": {"resource.exclusions": "- apiGroups: ['']\n  kinds: [ConfigMap]\n"},
    }
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {}}
    world = SmallWorld.with_objects([config_map("a", x="1"), secret], config_maps=(cm,))
    world.minutes(1)
    assert world.data("a", "x") is None
    assert world.condition("ExcludedResourceWarning") == "Resource /ConfigMap a is excluded in the settings"
    assert world.codes == ("Synced", "Healthy")


def test_a_sync_that_takes_too_long_is_ended_where_the_settings_say_so() -> None:
    params: Object = {
        "metadata": {"name": "argocd-cmd-params-cm"},
        "data": {"controller.sync.timeout.seconds": "300"},
    }
    waits: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    }
    app = application(automated={}, retry={"limit": 0})
    world = SmallWorld.with_objects([waits, config_map("a", wave=1)], app, config_maps=(params,))
    world.minutes(4)
    assert world.message == "waiting for healthy state of apps/Deployment/web"
    world.minutes(2)
    assert world.phase == "Failed"
    assert world.message == "Operation terminated, triggered by controller sync timeout"


def test_server_side_diff_asks_the_cluster() -> None:
    app = application(automated={"selfHeal": True})
    meta: Object = {
        **fields(app.get("metadata")),
        "annotations": {"argocd.argoproj.io/compare-options": "ServerSideDiff=true"},
    }
    world = SmallWorld.with_objects([config_map("a", x="1")], {**app, "metadata": meta})
    world.minutes(1)
    assert world.codes == ("Synced", "Healthy")
    world.write("a", "y", "of somebody else")
    world.minutes(1)
    assert world.codes == ("Synced", "Healthy"), "what Git does not name is not Argo CD's"
    world.write("a", "x", "2")
    world.minutes(1)
    assert world.data("a", "x") == "1"


def test_orphans_are_told_where_the_project_asks_for_it() -> None:
    project: Object = {
        "metadata": {"name": "default"},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
            "orphanedResources": {"warn": True},
        },
    }
    world = SmallWorld.with_objects([config_map("a", x="1")], projects=(project,))
    world.minutes(1)
    assert world.condition("OrphanedResourceWarning") is None
    body: Object = {**config_map("stray", x="1"), "metadata": {"name": "stray", "namespace": "shop"}}
    assert world.api_server.send(
        Request(verb="create", path="/api/v1/namespaces/shop/configmaps", body=body)
    ).ok
    world.minutes(3)
    assert world.condition("OrphanedResourceWarning") == "Application has 1 orphaned resources"


def test_facts_without_marks_get_them() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1"), config_map("b", x="1")])
    world.minutes(1)
    snapshot = snapshot_of(world)
    bare: list[Object] = []
    for live_object in snapshot.live:
        meta = {key: value for key, value in live_object.meta.items() if key != "annotations"}
        bare.append({**live_object.body, "metadata": meta})
    app = snapshot.applications[0].body
    again = restored_simulation(app, [config_map("a", x="2")], bare, world.clock.now + timedelta(hours=1))
    again.run(timedelta(minutes=1))
    rows = {
        str(fields(row).get("name")): fields(row)
        for row in items(again.argocd.status("shop").get("resources"))
    }
    assert data(again.api_server, "a") == {"x": "2"}, "Git has moved on, and the app heals itself"
    assert rows["a"].get("status") == "Synced"
    assert data(again.api_server, "b") is None, "the app's rows say that it is its own"


def test_a_snapshot_can_be_played_on() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")], application())
    world.argocd.request_sync("shop")
    world.minutes(1)
    world.write("a", "x", "by hand")
    world.minutes(1)
    snapshot = snapshot_of(world)
    again = restored_simulation(
        snapshot.applications[0].body,
        [desired_object.body for desired_object in snapshot.desired["argocd/shop"]],
        [live_object.body for live_object in snapshot.live],
        world.clock.now,
    )
    again.run(timedelta(minutes=1))
    assert again.argocd.sync_and_health("shop") == ("OutOfSync", "Healthy")
    again.argocd.request_sync("shop")
    again.run(timedelta(minutes=1))
    assert again.argocd.sync_and_health("shop") == ("Synced", "Healthy")
    again.git.all[0].push({"apps/shop": [config_map("a", x="3")]})
    again.argocd.refresh("shop")
    again.run(timedelta(minutes=1))
    assert again.argocd.sync_and_health("shop") == ("OutOfSync", "Healthy")


def test_only_some_namespaces_are_managed() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")], application(automated={}, options=()))
    world.destinations[0].namespaces = ("other",)
    world.minutes(1)
    message = 'Failed to load live state: namespace "shop" for ConfigMap "a" is not managed'
    assert world.condition("ComparisonError") == message
    assert world.codes[0] == "Unknown"


def test_changes_of_status_are_no_news_unless_the_settings_say_so() -> None:
    def refreshes(settings: Object) -> int:
        cm: Object = {"metadata": {"name": "argocd-cm"}, "data": settings}
        service: Object = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"ports": [{"port": 80}]},
        }
        world = SmallWorld.with_objects([service], config_maps=(cm,))
        world.seconds(10)
        before = len(world.moments(TraceKind.REFRESHED))
        path = "/api/v1/namespaces/shop/services/web/status"
        result: Object = {"status": {"conditions": [{"type": "Seen", "status": "True"}]}}
        assert world.api_server.send(Request(verb="merge-patch", path=path, body=result)).ok
        world.seconds(1)
        return len(world.moments(TraceKind.REFRESHED)) - before

    assert refreshes({}) == 0
    assert refreshes({"resource.ignoreResourceUpdatesEnabled": "false"}) == 1
