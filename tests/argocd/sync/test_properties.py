"""What holds for every operation: it is deterministic, its end is final, and results never vanish."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.argocd.sync.memory import MemoryGround
from tests.argocd.sync.objects import deployment, job, thing
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.results import State, result_json, results_from_json
from whysync.argocd.sync.step import step, terminate
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import ref_of

NAMES = st.sampled_from("abcd")
WAVES = st.sampled_from(["-1", "0", "1", "2"])
PHASES = st.sampled_from(["PreSync", "Sync", "PostSync", "SyncFail", "PreSync,PostSync", "Skip", "Nonsense"])
POLICIES = st.sampled_from(["", "HookSucceeded", "HookFailed", "BeforeHookCreation"])
PRUNES = st.sampled_from(["", "Prune=false", "Prune=confirm", "PruneLast=true", "Replace=true"])
ENDS = st.sampled_from(["", "Complete", "Failed"])


@st.composite
def resources(draw: st.DrawFn) -> Object:
    name, wave = draw(NAMES), draw(WAVES)
    if draw(st.booleans()):
        return thing(name, wave=wave, options=draw(PRUNES))
    return deployment(name, wave=wave, ready=draw(st.booleans()))


@st.composite
def hooks(draw: st.DrawFn) -> Object:
    policy = draw(POLICIES)
    more = {"policy": policy} if policy else dict[str, str]()
    name = f"hook-{draw(NAMES)}"
    return job(name, draw(ENDS), message="", hook=draw(PHASES), wave=draw(WAVES), **more)


@dataclass(frozen=True)
class Scene:
    targets: tuple[Object, ...]
    hooks: tuple[Object, ...]
    live: tuple[Object, ...]
    options: SyncOptions
    refused: frozenset[str]

    def cluster_ops(self) -> MemoryGround:
        return MemoryGround(
            objects={ref_of(live_object).key: live_object for live_object in self.live},
            refusals=dict.fromkeys(self.refused, "refused"),
        )

    def run(self, ground: MemoryGround) -> list[State]:
        return ground.run(self.targets, self.hooks, self.options)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    return Scene(
        targets=tuple(draw(st.lists(resources(), max_size=5))),
        hooks=tuple(draw(st.lists(hooks(), max_size=3))),
        live=tuple(draw(st.lists(st.one_of(resources(), hooks()), max_size=4))),
        options=SyncOptions(
            prune=draw(st.booleans()), prune_last=draw(st.booleans()), dry_run=draw(st.booleans())
        ),
        refused=draw(st.frozensets(st.sampled_from(["a", "b", "hook-a"]), max_size=2)),
    )


@given(scenes())
def test_the_same_scene_gives_the_same_operation(scene: Scene) -> None:
    first, second = scene.cluster_ops(), scene.cluster_ops()
    assert scene.run(first) == scene.run(second)
    assert (first.log, first.objects) == (second.log, second.objects)


@given(scenes())
def test_results_never_vanish_and_never_move(scene: Scene) -> None:
    states = scene.run(scene.cluster_ops())
    for before, after in pairwise(states):
        known = [result.task for result in before.results]
        assert [result.task for result in after.results][: len(known)] == known
        assert all(
            now.message or not then.message for then, now in zip(before.results, after.results, strict=False)
        )


@given(scenes())
def test_an_operation_can_be_kept_as_json_between_its_steps(scene: Scene) -> None:
    stored, plain = scene.cluster_ops(), scene.cluster_ops()
    state = State()
    for expected in scene.run(plain):
        state = step(state, stored.request(scene.targets, scene.hooks, scene.options), stored)
        assert state == expected
        rows = [result_json(result) for result in state.results]
        state = State(phase=state.phase, message=state.message, results=results_from_json(rows))


@given(scenes())
def test_what_is_finished_stays_finished(scene: Scene) -> None:
    ground = scene.cluster_ops()
    last = scene.run(ground)[-1]
    request = ground.request(scene.targets, scene.hooks, scene.options)
    if last.is_finished:
        log = list(ground.log)
        assert step(last, request, ground) is last
        assert terminate(last, request, ground) is last
        assert ground.log == log
    else:
        assert last.phase == "Running"
        ended = terminate(last, request, ground)
        assert (ended.phase, ended.message) == ("Failed", "Operation terminated")
        assert not any(result.hook_type and result.hook_phase == "Running" for result in ended.results)


@given(scenes())
@settings(max_examples=50)
def test_a_dry_run_touches_no_resource(scene: Scene) -> None:
    ground = scene.cluster_ops()
    before = {key: obj for key, obj in ground.objects.items() if key.kind != "Job"}
    ground.run(scene.targets, scene.hooks, SyncOptions(dry_run=True, prune=True))
    assert before == {key: obj for key, obj in ground.objects.items() if key.kind != "Job"}
    assert not any(line.startswith("apply") for line in ground.log)


@given(scenes())
def test_a_successful_sync_has_applied_everything(scene: Scene) -> None:
    ground = scene.cluster_ops()
    last = scene.run(ground)[-1]
    if last.phase == "Succeeded" and not scene.options.dry_run:
        assert {ref_of(target).key for target in scene.targets} <= set(ground.objects)
        assert not any(result.status == "SyncFailed" for result in last.results)
