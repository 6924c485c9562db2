from __future__ import annotations

import pytest

from tests.conformance.sync_order import (
    deleted_before_creation,
    deleted_on_completion,
    deletion_hook_needed,
    is_multi_step,
)
from whysync.argocd import hooks
from whysync.argocd.hooks import DeletePolicy, DeletionHook, HookType, SyncPhase, Task
from whysync.json_tree import Object


def job(name: str = "job", **annotations: str) -> Object:
    names = {
        "hook": hooks.HOOK,
        "helm": hooks.HELM_HOOK,
        "wave": hooks.SYNC_WAVE,
        "weight": "helm.sh/hook-weight",
        "policy": "argocd.argoproj.io/hook-delete-policy",
        "helm_policy": "helm.sh/hook-delete-policy",
    }
    full_annotations = {names[key]: value for key, value in annotations.items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": {**full_annotations}},
    }


@pytest.mark.parametrize(
    ("obj", "is_hook", "phases"),
    [
        (job(), False, [SyncPhase.SYNC]),
        (job(hook="PreSync"), True, [SyncPhase.PRE_SYNC]),
        (job(hook="PostSync, PreSync"), True, [SyncPhase.PRE_SYNC, SyncPhase.POST_SYNC]),
        (job(hook="presync"), True, []),  # misspelt: it vanishes
        (job(hook="Skip"), False, []),
        (job(hook="Skip,PreSync"), True, [SyncPhase.PRE_SYNC]),
        (job(helm="pre-install,pre-upgrade"), True, [SyncPhase.PRE_SYNC]),
        (job(helm="test"), True, []),
        (job(helm="crd-install"), False, [SyncPhase.SYNC]),
        (job(hook="PostSync", helm="pre-install"), True, [SyncPhase.POST_SYNC]),
        (job(hook="nonsense", helm="pre-install"), True, [SyncPhase.PRE_SYNC]),
    ],
)
def test_recognition(obj: Object, *, is_hook: bool, phases: list[SyncPhase]) -> None:
    assert hooks.is_hook(obj) is is_hook
    assert list(hooks.sync_phases(obj)) == phases
    assert hooks.is_ignored(obj) is (is_hook and not phases)


def test_one_value_that_is_no_text_and_there_are_no_annotations() -> None:
    obj: Object = {"metadata": {"annotations": {hooks.HOOK: "PreSync", "other": 1}}}
    assert not hooks.is_hook(obj)
    assert hooks.hook_types(obj) == ()


@pytest.mark.parametrize(
    ("obj", "wave"),
    [
        (job(), 0),
        (job(wave="-5"), -5),
        (job(wave="+3"), 3),
        (job(wave="1.5", weight="7"), 7),
        (job(wave=" 1", weight="x"), 0),
        (job(wave="9" * 40), 0),
    ],
)
def test_waves(obj: Object, wave: int) -> None:
    assert hooks.wave_of(obj) == wave


def test_delete_policies_add_up_and_have_a_default() -> None:
    both = job(policy="HookSucceeded,nonsense", helm_policy="hook-failed")
    assert hooks.delete_policies(both) == (DeletePolicy.HOOK_SUCCEEDED, DeletePolicy.HOOK_FAILED)
    assert hooks.delete_policies(job()) == (DeletePolicy.BEFORE_HOOK_CREATION,)


def test_hooks_of_the_deletion_are_set_aside_unless_a_sync_needs_them_too() -> None:
    only, too = job("only", helm="post-delete"), job("too", hook="PostDelete,PostSync")
    partition = hooks.partition_for_sync([only, too, job("plain")])
    assert partition.sync == (too, job("plain"))
    assert (partition.has_pre_delete, partition.has_post_delete) == (False, True)
    assert hooks.hook_types(too) == (HookType.POST_SYNC,)
    assert deletion_hook_needed(only, None, [DeletionHook.POST_DELETE])
    assert not deletion_hook_needed(only, only, [DeletionHook.POST_DELETE])
    assert not deletion_hook_needed(only, None, [DeletionHook.PRE_DELETE])


def test_the_highest_wave_is_deleted_first() -> None:
    waves = [job("a"), job("b", wave="2"), job("c", wave="2"), job("d", wave="-1")]
    assert hooks.first_deleted(waves) == (waves[1], waves[2])
    assert hooks.first_deleted([]) == ()


def thing(kind: str, name: str, *, api: str = "v1", namespace: str = "", wave: str = "0") -> Object:
    metadata: Object = {"name": name, "annotations": {hooks.SYNC_WAVE: wave}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata}


def order(*objects: Object) -> list[str]:
    tasks = hooks.in_order(Task(target=obj) for obj in objects)
    return [f"{task.obj['kind']}@{task.wave}" for task in tasks]


def test_kinds_waves_and_what_others_need() -> None:
    assert order(thing("Deployment", "a"), thing("Widget", "b"), thing("Secret", "c")) == [
        "Secret@0",
        "Deployment@0",
        "Widget@0",
    ]
    # a namespace in a later wave is pulled in front of the first that lives in it
    assert order(
        thing("Namespace", "shop", wave="5"),
        thing("Secret", "s", namespace="shop", wave="1"),
        thing("Pod", "p"),
    ) == ["Pod@0", "Namespace@1", "Secret@1"]
    crd = thing("CustomResourceDefinition", "w", api="apiextensions.k8s.io/v1", wave="3")
    crd["spec"] = {"group": "x.io", "names": {"kind": "Widget"}}
    assert order(crd, thing("Widget", "a", api="x.io/v1", wave="-1")) == [
        "CustomResourceDefinition@-1",
        "Widget@-1",
    ]


def test_prunes_run_the_other_way_round_and_may_wait() -> None:
    tasks = [
        Task(live=thing("Pod", "a", wave="0")),
        Task(live=thing("Pod", "b", wave="1")),
        Task(live=thing("Pod", "c", wave="5")),
        Task(target=thing("Pod", "d", wave="7")),
    ]
    mirrored = hooks.with_prunes_reversed(tasks)
    assert [task.wave for task in mirrored] == [5, 1, 0, 7]
    assert [task.wave for task in hooks.with_prune_last(mirrored, lambda _: True)] == [8, 8, 8, 7]
    assert is_multi_step(tasks)


def test_only_hooks_have_delete_policies() -> None:
    live = job(hook="Sync", policy="HookSucceeded,BeforeHookCreation")
    assert deleted_before_creation(Task(live=live))
    assert deleted_on_completion(Task(live=live))
    assert not deleted_before_creation(Task(live=live, operation_state="Running"))
    assert not deleted_on_completion(Task(live=job(policy="HookSucceeded")))
    assert not deleted_before_creation(Task(target=live))
