"""Whatever Applications, manifests and facts look like: Argo CD goes on, and nothing raises."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.argocd.app_controller.world import SmallWorld, application, config_map, job, restored_simulation
from whysync.argocd.server.server import Denied
from whysync.facts.simulated import snapshot_of
from whysync.json_tree import Json, Object

Path = tuple[str | int, ...]
KEYS = ("metadata", "spec", "name", "source", "path", "annotations", "automated", "limit", "kind", "data")
FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def anything() -> st.SearchStrategy[Json]:
    leaves: st.SearchStrategy[Json] = st.one_of(
        st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=3)
    )
    keys: list[str] = [*KEYS]
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(keys), inner, max_size=3)
        ),
        max_leaves=5,
    )


def places(value: Json, above: Path = ()) -> list[Path]:
    result: list[Path] = [above] if above else []
    if isinstance(value, dict):
        for key, item in value.items():
            result += places(item, (*above, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            result += places(item, (*above, index))
    return result


def with_value(tree: Json, path: Path, value: Json) -> Json:
    """A copy with the value at that path."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(tree, dict) and isinstance(step, str):
        return {**tree, step: with_value(tree[step], rest, value)}
    assert isinstance(tree, list)
    assert isinstance(step, int)
    return [*tree[:step], with_value(tree[step], rest, value), *tree[step + 1 :]]


APP = application(automated={"selfHeal": True})
MAP = config_map("a", x="1")


@FEW
@given(st.sampled_from(places(APP)), anything(), st.sampled_from(places(MAP)), anything())
def test_any_application_and_any_manifest(path: Path, value: Json, inside: Path, other: Json) -> None:
    app, obj = with_value(APP, path, value), with_value(MAP, inside, other)
    assert isinstance(app, dict)
    assert isinstance(obj, dict)
    world = SmallWorld.with_objects([obj], app)
    world.minutes(3)
    for name in list(world.argocd.applications):
        try:
            world.argocd.request_sync(name)
        except Denied:
            continue
    world.minutes(3)
    snapshot_of(world)


def _played() -> tuple[Object, list[Json], SmallWorld]:
    world = SmallWorld.with_objects([MAP, job("done", "PostSync")])
    world.minutes(1)
    snapshot = snapshot_of(world)
    return snapshot.applications[0].body, [live_object.body for live_object in snapshot.live], world


STATE, LIVE, WORLD = _played()


@FEW
@given(st.sampled_from(places(STATE)), anything(), st.sampled_from(places(LIVE)), anything())
def test_any_status_and_any_live_object(path: Path, value: Json, inside: Path, other: Json) -> None:
    app, live = with_value(STATE, path, value), with_value(LIVE, inside, other)
    assert isinstance(app, dict)
    assert isinstance(live, list)
    objects = [live_object for live_object in live if isinstance(live_object, dict)]
    simulation = restored_simulation(app, [config_map("a", x="2")], objects, WORLD.clock.now)
    simulation.run(timedelta(minutes=5))
    snapshot_of(simulation)
