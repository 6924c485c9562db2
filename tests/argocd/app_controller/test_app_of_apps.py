"""An Application that deploys Applications."""

from __future__ import annotations

from tests.argocd.app_controller.world import SmallWorld, application, config_map
from whysync.json_tree import Object, dig, fields

FINALIZER = "resources-finalizer.argocd.argoproj.io"


def child(name: str, *, automated: Object | None = None) -> Object:
    app = application(name=name, path=f"apps/{name}", automated={} if automated is None else automated)
    meta: Object = {**fields(app.get("metadata")), "finalizers": [FINALIZER]}
    return {**app, "metadata": meta}


def family() -> SmallWorld:
    world = SmallWorld.with_objects(
        [child("web")], application(automated={"prune": True, "allowEmpty": True})
    )
    world.repo.push({"apps/web": [config_map("a", x="1")]})
    world.minutes(1)
    return world


def test_a_child_is_taken_over_and_its_status_written_back() -> None:
    world = family()
    assert world.codes == ("Synced", "Healthy")
    assert world.argocd.sync_and_health("web") == ("Synced", "Healthy")
    assert world.data("a", "x") == "1"
    live = world.get("/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/web")
    assert dig(live, "status", "sync", "status") == "Synced"


def test_a_change_of_the_child_in_git_reaches_it() -> None:
    world = family()
    world.repo.push({"apps/shop": [child("web", automated={"selfHeal": True})]})
    world.argocd.refresh("shop")
    world.minutes(1)
    spec = fields(world.argocd.applications["argocd/web"].get("spec"))
    assert dig(spec, "syncPolicy", "automated") == {"selfHeal": True}
    assert world.argocd.sync_and_health("web") == ("Synced", "Healthy")


def test_a_child_that_leaves_git_goes_with_its_objects() -> None:
    world = family()
    world.repo.push({"apps/shop": []})
    world.argocd.refresh("shop")
    world.minutes(5)
    assert list(world.argocd.applications) == ["argocd/shop"]
    assert world.data("a", "x") is None
    assert world.get("/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/web") is None
    assert world.codes[0] == "Synced"
