"""The life of hooks: created, judged, freed, deleted; and what a failed sync does with those of SyncFail."""

from __future__ import annotations

import pytest

from tests.argocd.sync.memory import MemoryGround
from tests.argocd.sync.objects import NAMESPACE, job, thing
from tests.argocd.sync.stub import StubClusterOps
from whysync.argocd.api.application import HealthCode
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.health.assess import Assessment
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.hooks import Task
from whysync.argocd.sync.cluster_ops import Reason, Refused
from whysync.argocd.sync.hooks import (
    HOOK_FINALIZER,
    get_operation_phase,
    has_hook_finalizer,
    remove_finalizer,
    with_hook_finalizer,
    without_hook_finalizer,
)
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.request import Request
from whysync.argocd.sync.results import Result, State
from whysync.argocd.sync.step import step, terminate
from whysync.argocd.sync.sync_task import SyncTask
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.ref import ref_of


def _ends(condition: str, message: str = "") -> MemoryGround:
    """Every Job ends so, as soon as it is created."""

    def become(obj: Object) -> Object:
        if obj["kind"] != "Job":
            return obj
        status: Object = {"conditions": [{"type": condition, "status": "True", "message": message}]}
        return {**obj, "status": status}

    return MemoryGround(becomes=become)


def test_a_hook_runs_before_the_rest_and_stays_unless_its_policy_says_otherwise() -> None:
    ground = _ends("Complete")
    states = ground.run([thing("a")], [job("migrate")])
    assert states[0].message == "waiting for completion of hook batch/Job/migrate"
    assert states[-1].phase == "Succeeded"
    assert ground.names == {"a", "migrate"}
    assert not has_hook_finalizer(ground.objects[ref_of(job("migrate")).key])
    (first, _) = states[-1].results
    assert (first.hook_type, first.sync_phase, first.hook_phase) == ("PreSync", "PreSync", "Succeeded")


def test_a_hook_that_never_ends_holds_the_operation_for_ever() -> None:
    ground = MemoryGround()
    *_, last = ground.run([thing("a")], [job("migrate")])
    assert (last.phase, ground.names) == ("Running", {"migrate"})


def test_a_failed_hook_fails_the_sync_and_is_deleted_if_it_says_so() -> None:
    ground = _ends("Failed", "no database")
    *_, last = ground.run([thing("a")], [job("migrate", policy="HookFailed")])
    assert (last.phase, last.message) == (
        "Failed",
        "one or more synchronization tasks completed unsuccessfully",
    )
    assert (last.results[0].hook_phase, last.results[0].message) == ("Failed", "no database")
    assert ground.names == set()


def test_succeeded_hooks_are_deleted_at_the_end_of_the_whole_sync() -> None:
    ground = _ends("Complete")
    states = ground.run([thing("a")], [job("migrate", policy="HookSucceeded")])
    assert ground.log == ["apply migrate", "apply a", "delete migrate"]
    assert states[-1].phase == "Succeeded"


def test_a_hook_of_an_earlier_sync_is_deleted_before_it_is_created() -> None:
    ground = _ends("Complete")
    old = with_hook_finalizer(job("migrate", "Complete"))
    ground.objects[ref_of(old).key] = old
    states = ground.run([], [job("migrate")])
    assert ground.log == ["delete migrate", "apply migrate"]
    assert states[0].message == "waiting for deletion of hook batch/Job/migrate"
    assert states[-1].phase == "Succeeded"


def test_a_hook_without_that_policy_is_applied_over_the_old_one() -> None:
    ground = _ends("Complete")
    old = job("migrate", "Complete")
    ground.objects[ref_of(old).key] = old
    ground.run([], [job("migrate", policy="HookFailed")])
    assert ground.log == ["apply migrate"]


def test_a_hook_without_a_name_gets_one_for_each_phase() -> None:
    hook = job("", hook="PreSync,PostSync")
    hook["metadata"] = {"generateName": "run-", "annotations": dig_annotations(hook)}
    ground = _ends("Complete")
    ground.run([], [hook])
    assert ground.names == {"run-0123456-presync-0", "run-0123456-postsync-0"}


def dig_annotations(obj: Object) -> Object:
    value = dig(obj, "metadata", "annotations")
    assert isinstance(value, dict)
    return value


def test_hooks_of_sync_fail_run_before_the_sync_says_that_it_failed() -> None:
    ground = _ends("Complete")
    ground.refusals = {"a": "denied"}
    states = ground.run([thing("a")], [job("clean", hook="SyncFail")])
    assert states[0].message == "waiting for completion of hook batch/Job/clean"
    assert states[-1].message == (
        "one or more synchronization tasks completed unsuccessfully, reason: denied"
    )
    assert ground.names == {"clean"}


def test_hooks_of_sync_fail_start_while_the_rest_of_the_wave_still_runs() -> None:
    ground = MemoryGround(refusals={"a": "denied"})
    first = ground.run([thing("a"), thing("b")], [job("clean", hook="SyncFail")])[0]
    assert first.message == "waiting for completion of hook batch/Job/clean and 1 more resources"
    assert ground.names == {"b", "clean"}


def test_hooks_of_sync_fail_do_not_run_when_all_is_well() -> None:
    ground = _ends("Complete")
    *_, last = ground.run([thing("a")], [job("clean", hook="SyncFail")])
    assert (last.phase, ground.names) == ("Succeeded", {"a"})


def test_a_refused_hook_of_sync_fail_adds_a_line() -> None:
    ground = MemoryGround(refusals={"a": "denied", "clean": "denied too"})
    *_, last = ground.run([thing("a")], [job("clean", hook="SyncFail")])
    assert last.message == (
        "one or more synchronization tasks completed unsuccessfully, reason: denied\n"
        "one or more SyncFail hooks failed, reason: denied too"
    )


def test_a_dry_run_deletes_old_hooks_all_the_same() -> None:
    """Upstream takes no notice of the dry run where it frees and deletes hooks that it counts as done."""
    ground = MemoryGround()
    old = with_hook_finalizer(job("migrate", "Complete", policy="HookSucceeded"))
    ground.objects[ref_of(old).key] = old
    (last,) = ground.run([], [job("migrate", policy="HookSucceeded")], SyncOptions(dry_run=True))
    assert (last.phase, ground.log, ground.names) == ("Succeeded", ["delete migrate"], set())


@pytest.mark.parametrize(
    ("code", "phase"),
    [
        (HealthCode.HEALTHY, "Succeeded"),
        (HealthCode.PROGRESSING, "Running"),
        (HealthCode.SUSPENDED, "Running"),
        (HealthCode.DEGRADED, "Failed"),
        (HealthCode.UNKNOWN, "Failed"),
    ],
)
def test_how_a_hook_is_judged(code: HealthCode, phase: str) -> None:
    ground = StubClusterOps(verdicts={"h": Assessment(verdict=HealthVerdict(code, "so it is"))})
    assert get_operation_phase(ground, job("h")) == (phase, "so it is", None)


def test_a_hook_that_nobody_can_judge_has_succeeded() -> None:
    assert get_operation_phase(StubClusterOps(), thing("h", hook="Sync")) == ("Succeeded", "h created", None)
    missing = StubClusterOps(verdicts={"h": Assessment(verdict=HealthVerdict(HealthCode.MISSING, "?"))})
    assert get_operation_phase(missing, job("h")) == ("Succeeded", "h created", None)


def test_a_hook_whose_health_cannot_be_told_is_an_error() -> None:
    broken = Assessment(verdict=HealthVerdict(HealthCode.UNKNOWN), error="bad script")
    ground = StubClusterOps(verdicts={"h": broken})
    hook = job("h", hook="Sync")
    running = State(results=(_running(hook),))
    state = step(running, _request(hook), ground)
    assert state.phase == "Failed"
    assert state.results[0].message == (
        "failed to get resource health: failed to get resource health: bad script"
    )


def _running(hook: Object) -> Result:
    ref = ref_of(hook)
    return Result(
        group=ref.group,
        kind=ref.kind,
        namespace=ref.namespace,
        name=ref.name,
        status="Synced",
        hook_phase="Running",
        sync_phase="Sync",
    )


def _request(hook: Object, live: Object | None = None) -> Request:
    pair = Pair(None, with_hook_finalizer(hook) if live is None else live)
    return Request(namespace=NAMESPACE, revision="1", pairs=(pair,), hooks=(hook,))


def test_terminating_deletes_what_runs_and_believes_what_is_over() -> None:
    for condition, phase, deleted in (("", "Failed", 1), ("Complete", "Succeeded", 0)):
        ground = StubClusterOps()
        hook = job("h", condition, hook="Sync")
        state = terminate(State(results=(_running(hook),)), _request(hook), ground)
        assert (state.phase, state.message) == ("Failed", "Operation terminated")
        assert (state.results[0].hook_phase, len(ground.deletions)) == (phase, deleted)
        assert len(ground.updates) == 1


def test_terminating_a_hook_that_is_gone() -> None:
    hook = job("h", hook="Sync")
    request = Request(namespace=NAMESPACE, revision="1", hooks=(hook,))
    state = terminate(State(results=(_running(hook),)), request, StubClusterOps())
    assert (state.results[0].hook_phase, state.results[0].message) == ("Succeeded", "Terminated")


def test_terminating_can_fail() -> None:
    hook = job("h", hook="Sync")
    ground = StubClusterOps(delete_error=Refused("forbidden"))
    state = terminate(State(results=(_running(hook),)), _request(hook), ground)
    assert (state.phase, state.message) == ("Error", "Operation termination had errors")
    assert state.results[0].message == "Failed to delete: failed to delete resource: forbidden"


def test_terminating_a_hook_whose_health_cannot_be_told_deletes_it_and_keeps_the_error() -> None:
    hook = job("h", hook="Sync")
    ground = StubClusterOps(
        verdicts={"h": Assessment(verdict=HealthVerdict(HealthCode.UNKNOWN), error="bad script")}
    )
    state = terminate(State(results=(_running(hook),)), _request(hook), ground)
    assert (state.phase, state.results[0].hook_phase) == ("Failed", "Error")
    assert state.results[0].message.endswith("failed to get resource health: bad script")
    assert len(ground.deletions) == 1


class _Contested(StubClusterOps):
    """Somebody else changes the hook all the time."""

    def update(self, obj: Object, *, dry_run: bool) -> None:  # noqa: ARG002  (of ClusterOps)
        self.updates.append(obj)
        raise Refused("it was changed", reason=Reason.CONFLICT)


def test_the_finalizer_is_tried_five_times_against_conflicts() -> None:
    live = with_hook_finalizer(job("h"))
    ground = _Contested(objects={ref_of(live): live})
    task = SyncTask(Task(target=job("h"), live=live))
    with pytest.raises(Refused, match="failed to update resource: failed to update resource: it was changed"):
        remove_finalizer(ground, task)
    assert len(ground.updates) == 5


def test_a_hook_that_is_gone_needs_no_freeing() -> None:
    live = with_hook_finalizer(job("h"))
    for ground in (_Contested(), StubClusterOps(update_error=Refused("?", reason=Reason.NOT_FOUND))):
        remove_finalizer(ground, SyncTask(Task(target=job("h"), live=live)))


def test_the_finalizer_comes_and_goes_alone() -> None:
    hook = job("h")
    hook["metadata"] = {"name": "h", "finalizers": ["example.com/other"]}
    assert dig(with_hook_finalizer(hook), "metadata", "finalizers") == ["example.com/other", HOOK_FINALIZER]
    assert without_hook_finalizer(with_hook_finalizer(hook)) == hook
    assert with_hook_finalizer(with_hook_finalizer(hook)) == with_hook_finalizer(hook)
    assert without_hook_finalizer(hook) is hook


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize(("phase", "created"), [("PreSync", True), ("Sync", False), ("PostSync", True)])
def test_a_hook_that_replaces_an_object_of_its_phase_is_not_created(
    phase: str, *, created: bool, prune: bool
) -> None:
    """The object is pruned in the Sync phase, and its result has the key of the hook's own.

    Seen with gitops-engine of Argo CD 3.2.11.
    """
    ground = _ends("Complete")
    old = thing("seed", "Job", api_version="batch/v1")
    key = ref_of(old).key
    ground.objects[key] = old
    old["metadata"] = {**fields(old["metadata"]), "finalizers": ["foregroundDeletion"]}
    hook = job("seed", hook=phase, policy="BeforeHookCreation")
    state = step(State(), ground.request([thing("a")], [hook], SyncOptions(prune=prune)), ground)
    for _ in range(6):
        if dig(ground.objects.get(key, {}), "metadata", "deletionTimestamp"):
            del ground.objects[key]  # the garbage collector has deleted its Pods
        state = step(state, ground.request([thing("a")], [hook], SyncOptions(prune=prune)), ground)
    assert state.phase == "Succeeded"
    assert ("seed" in ground.names) is created
