"""Operations without hooks: waves, health gates, prunes, and what the operation says meanwhile."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.argocd.sync.memory import MemoryGround
from tests.argocd.sync.objects import NAMESPACE, deployment, thing
from tests.argocd.sync.stub import StubClusterOps
from whysync.argocd.compare.managed_namespace import managed_namespace
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.sync.cluster_ops import Refused
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.request import Request
from whysync.argocd.sync.results import State
from whysync.argocd.sync.step import step
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Ref, ref_of

PRUNE = SyncOptions(prune=True)


def _outcomes(state: State) -> dict[str, tuple[str, str]]:
    return {result.name: (result.status, result.hook_phase) for result in state.results}


def test_one_wave_succeeds_as_soon_as_it_is_applied_whatever_becomes_of_it() -> None:
    ground = MemoryGround()
    (last,) = ground.run([deployment("api", ready=False), thing("settings")])
    assert (last.phase, last.message) == ("Succeeded", "successfully synced (all tasks run)")
    assert _outcomes(last) == {"settings": ("Synced", "Running"), "api": ("Synced", "Running")}
    assert [result.message for result in last.results] == [
        "ConfigMap/settings created",
        "Deployment/api created",
    ]


def test_a_wave_waits_for_the_health_of_the_one_before() -> None:
    ground = MemoryGround()
    targets = [deployment("db", ready=False), deployment("api", wave="1")]
    *_, stuck = ground.run(targets)
    assert (stuck.phase, stuck.message) == ("Running", "waiting for healthy state of apps/Deployment/db")
    assert ground.names == {"db"}
    ground.objects[ref_of(targets[0]).key] = deployment("db")
    first = step(stuck, ground.request(targets), ground)
    assert (first.phase, ground.names) == ("Succeeded", {"db", "api"})
    assert _outcomes(first) == {"db": ("Synced", "Succeeded"), "api": ("Synced", "Running")}
    assert first.results[0].message == "Deployment/db created", "a healthy resource says nothing new"


def test_a_degraded_resource_fails_the_operation_without_a_reason() -> None:
    ground = MemoryGround()
    late = deployment("db")
    late["status"] = {"conditions": [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]}
    ground.becomes = lambda obj: late if ref_of(obj).name == "db" else obj
    *_, last = ground.run([deployment("db"), deployment("api", wave="1")])
    assert (last.phase, last.message) == (
        "Failed",
        "one or more synchronization tasks completed unsuccessfully",
    )
    assert _outcomes(last) == {"db": ("Synced", "Failed")}
    assert ground.names == {"db"}


def test_a_refusal_lets_the_rest_of_its_wave_be_applied_but_no_later_wave() -> None:
    ground = MemoryGround(refusals={"b": "no quota left"})
    *_, last = ground.run([thing("a"), thing("b"), thing("c"), thing("d", wave="1")])
    assert ground.names == {"a", "c"}
    assert (last.phase, last.message) == (
        "Failed",
        "one or more synchronization tasks completed unsuccessfully, reason: no quota left",
    )


def test_a_refusal_alone_in_its_wave_fails_at_once() -> None:
    ground = MemoryGround(refusals={"a": "denied", "b": "denied"})
    (last,) = ground.run([thing("a"), thing("b")])
    assert last.message == "one or more objects failed to apply, reason: denied"
    assert _outcomes(last) == {"a": ("SyncFailed", "Failed"), "b": ("SyncFailed", "Failed")}


def test_a_deleted_resource_is_missed() -> None:
    ground = MemoryGround()
    targets = [deployment("db", ready=False), thing("late", wave="1")]
    first = step(State(), ground.request(targets), ground)
    ground.objects.clear()
    second = step(first, ground.request(targets), ground)
    assert second.phase == "Running"
    assert second.results[0].message == "Resource apps/Deployment/db is missing, it might have been deleted"
    third = step(second, ground.request(targets), ground)
    assert third.message.endswith(
        "reason: Resource apps/Deployment/db is missing, it might have been deleted"
    )


def test_a_resource_that_cannot_be_looked_for_is_an_error_of_its_own() -> None:
    targets = [deployment("db", ready=False), thing("late", wave="1")]
    first = step(State(), MemoryGround().request(targets), MemoryGround())
    second = step(first, MemoryGround().request(targets), _Unreadable())
    assert second.results[0].message == "Failed to get live resource failed to get resource: forbidden"
    assert second.results[0].status == "Synced"


class _Unreadable(StubClusterOps):
    def get(self, ref: Ref) -> Object:  # noqa: ARG002  (of ClusterOps)
        raise Refused("forbidden")


def test_what_is_being_deleted_is_not_deleted_again() -> None:
    leaving = thing("leaving")
    leaving["metadata"] = {**ref_meta(leaving), "deletionTimestamp": "2026-03-02T03:00:00Z"}
    ground = StubClusterOps()
    pairs = (Pair(None, leaving), Pair(None, thing("extra")))
    state = step(State(), Request(namespace=NAMESPACE, revision="1", pairs=pairs, options=PRUNE), ground)
    assert [ref.name for ref in ground.deletions] == ["extra"]
    assert _outcomes(state) == {"leaving": ("Pruned", "Succeeded"), "extra": ("Pruned", "Succeeded")}


def test_prunes_run_in_the_opposite_order_and_are_waited_for() -> None:
    first, second = thing("first", wave="0"), thing("second", wave="1")
    second["metadata"] = {**ref_meta(second), "finalizers": ["example.com/held"]}
    ground = MemoryGround(objects={ref_of(item).key: item for item in (first, second)})
    *_, waiting = ground.run(options=PRUNE)
    assert waiting.message == "waiting for deletion of /ConfigMap/second"
    assert ground.log == ["delete second"]
    del ground.objects[ref_of(second).key]
    done = step(waiting, ground.request(options=PRUNE), ground)
    assert (done.phase, ground.names) == ("Succeeded", set())
    assert _outcomes(done) == {"second": ("Pruned", "Succeeded"), "first": ("Pruned", "Succeeded")}


def ref_meta(obj: Object) -> Object:
    meta = obj["metadata"]
    assert isinstance(meta, dict)
    return meta


@pytest.mark.parametrize(
    ("option", "prune", "message"),
    [
        ("", False, "ignored (requires pruning)"),
        ("Prune=false", True, "ignored (no prune)"),
        ("PruneLast=true", True, "pruned"),
    ],
)
def test_what_becomes_of_an_extra_object(option: str, prune: bool, message: str) -> None:
    extra = thing("extra", options=option)
    ground = MemoryGround(objects={ref_of(extra).key: extra})
    *_, last = ground.run(options=SyncOptions(prune=prune))
    assert (last.phase, last.results[0].message) == ("Succeeded", message)
    assert ("extra" in ground.names) is (message != "pruned")


def test_a_prune_waits_for_its_confirmation_and_holds_back_the_rest_of_its_wave() -> None:
    extra = thing("extra", options="Prune=confirm")
    ground = MemoryGround(objects={ref_of(extra).key: extra})
    first = step(State(), ground.request([thing("a")], options=PRUNE), ground)
    assert first.message == "waiting for pruning confirmation of /ConfigMap/extra"
    assert (first.results, ground.names) == ((), {"extra"})
    request = ground.request([thing("a")], options=PRUNE, prune_confirmed=True)
    assert (step(first, request, ground).phase, ground.names) == ("Succeeded", {"a"})


def test_a_dry_run_changes_nothing_and_says_so() -> None:
    extra = thing("extra")
    ground = MemoryGround(objects={ref_of(extra).key: extra})
    (last,) = ground.run([thing("a"), thing("b", wave="1")], options=SyncOptions(dry_run=True, prune=True))
    assert (last.phase, ground.names, ground.log) == ("Succeeded", {"extra"}, [])
    assert {result.message for result in last.results} == {
        "pruned (dry run)",
        "ConfigMap/a configured (dry run)",
        "ConfigMap/b configured (dry run)",
    }


def test_only_what_differs_is_applied_when_asked_so() -> None:
    same, other = thing("same"), thing("other")
    ground = MemoryGround(objects={ref_of(item).key: item for item in (same, other)})
    request = ground.request([same, other], options=SyncOptions(out_of_sync_only=True))
    request = replace(request, modified={ref_of(same).key: False, ref_of(other).key: True})
    assert _outcomes(step(State(), request, ground)) == {"other": ("Synced", "Running")}


def test_the_namespace_is_created_before_the_rest_is_tried() -> None:
    ground = MemoryGround()
    request = ground.request(
        [thing("a")], make_namespace=lambda bare, live: managed_namespace(bare, live, None)
    )
    first = step(State(), request, ground)
    assert first.message == f"waiting for healthy state of /Namespace/{NAMESPACE}"
    assert ground.log == [f"apply {NAMESPACE}"]


def test_a_created_namespace_is_not_tried_in_the_dry_run() -> None:
    ground = StubClusterOps()
    request = Request(
        namespace=NAMESPACE,
        revision="1",
        pairs=(Pair(thing("a"), None),),
        make_namespace=lambda bare, _live: bare,
    )
    step(State(), request, ground)
    result = [(command.ref.name, command.mode.dry_run) for command in ground.commands]
    assert result == [(NAMESPACE, False), ("a", True)]


def test_a_namespace_that_cannot_be_created_ends_it() -> None:
    ground = MemoryGround(refusals={NAMESPACE: "forbidden"})
    request = ground.request(
        [thing("a")], make_namespace=lambda bare, live: managed_namespace(bare, live, None)
    )
    last = step(State(), request, ground)
    assert (last.phase, last.message) == ("Failed", "the namespace failed to apply, reason: forbidden")


def test_the_pause_after_a_wave_can_end_the_operation() -> None:
    ground = StubClusterOps(pause_error=Refused("no time"))
    request = Request(namespace=NAMESPACE, revision="1", pairs=(Pair(thing("a"), None),))
    last = step(State(), request, ground)
    assert (last.phase, last.message) == ("Error", "SyncWaveHook failed: no time")
    assert ground.pauses == [("Sync", 0, True)]
