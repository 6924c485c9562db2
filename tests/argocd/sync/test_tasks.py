"""Which tasks a sync consists of, and which of them may not be done."""

from __future__ import annotations

from msgspec.structs import replace

from tests.argocd.sync.objects import NAMESPACE, job, thing
from tests.argocd.sync.stub import StubClusterOps
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.sync.cluster_ops import ApiResource, Reason, Refused
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.request import Request
from whysync.argocd.sync.results import State
from whysync.argocd.sync.step import step
from whysync.argocd.sync.sync_context import SyncContext
from whysync.argocd.sync.tasks import Plan, plan
from whysync.json_tree import Object, dig
from whysync.kubernetes.api.ref import Ref, ref_of


def _request(*pairs: Pair, hooks: tuple[Object, ...] = ()) -> Request:
    return Request(namespace=NAMESPACE, revision="1", pairs=pairs, hooks=hooks)


def _plan(request: Request, ground: StubClusterOps | None = None) -> Plan:
    return plan(SyncContext(State(), request, ground or StubClusterOps()))


def _definition(group: str, kind: str) -> Object:
    result = thing("widgets", "CustomResourceDefinition", api_version="apiextensions.k8s.io/v1")
    return {**result, "spec": {"group": group, "names": {"kind": kind}}}


def _as_it_is(namespace: Object, _live: Object | None) -> Object:
    return namespace


def _only_b(pair: Pair) -> bool:
    return ref_of(pair.obj).name == "b"


def _not_b(obj: Object, _kind: ApiResource) -> str | None:
    return "not permitted" if ref_of(obj).name == "b" else None


WIDGET = thing("w", "Widget", api_version="example.com/v1")
NO_WIDGETS = frozenset({"Widget"})


def test_an_unknown_kind_makes_the_whole_sync_invalid_and_nothing_is_changed() -> None:
    ground = StubClusterOps(unknown_kinds=NO_WIDGETS)
    last = step(State(), _request(Pair(WIDGET, None), Pair(thing("a"), None)), ground)
    assert last.phase == "Failed"
    assert last.message == 'one or more synchronization tasks are not valid: Widget "" not found'
    assert [(result.name, result.status, result.hook_phase) for result in last.results] == [
        ("w", "SyncFailed", "")
    ]
    assert ground.commands == []


def test_the_definition_may_come_with_the_same_sync() -> None:
    ground = StubClusterOps(unknown_kinds=NO_WIDGETS)
    result = _plan(_request(Pair(WIDGET, None), Pair(_definition("example.com", "Widget"), None)), ground)
    assert result.is_valid
    assert [(task.ref.kind, task.skips_dry_run) for task in result.tasks] == [
        ("CustomResourceDefinition", False),
        ("Widget", True),
    ]
    state = step(
        State(), _request(Pair(WIDGET, None), Pair(_definition("example.com", "Widget"), None)), ground
    )
    assert state.phase == "Succeeded"
    assert [command.mode.dry_run for command in ground.commands if command.ref.kind == "Widget"] == [False]


def test_a_definition_of_another_kind_does_not_help() -> None:
    ground = StubClusterOps(unknown_kinds=NO_WIDGETS)
    other = _definition("example.org", "Widget")
    assert not _plan(_request(Pair(WIDGET, None), Pair(other, None)), ground).is_valid


def test_the_project_forbids_each_object_by_itself() -> None:
    request = replace(
        _request(Pair(thing("a"), None), Pair(thing("b"), None)),
        permission_problem=_not_b,
    )
    last = step(State(), request, StubClusterOps())
    assert last.message == "one or more synchronization tasks are not valid: not permitted"
    assert [result.name for result in last.results] == ["b"]


def test_a_target_gets_the_namespace_of_the_destination_and_finds_its_live_object() -> None:
    target: Object = {"apiVersion": "v1", "kind": "ClusterThing", "metadata": {"name": "c"}}
    live: Object = {**target, "metadata": {"name": "c", "uid": "1"}}
    result = _plan(_request(Pair(None, live), hooks=({**target, "metadata": _hook_meta("c")},)))
    hook = next(task for task in result.tasks if task.is_hook)
    assert (hook.ref.namespace, hook.live) == (NAMESPACE, live)
    assert hook.compared_key.namespace == ""


def _hook_meta(name: str) -> Object:
    return {"name": name, "annotations": {"argocd.argoproj.io/hook": "Sync"}}


def test_live_hooks_are_not_pruned_and_skipped_objects_not_synced() -> None:
    skipped = thing("s", hook="Skip")
    result = _plan(_request(Pair(None, job("old")), Pair(skipped, None), Pair(None, thing("extra"))))
    assert [task.ref.name for task in result.tasks] == ["extra"]


def test_a_hook_in_two_phases_is_two_tasks() -> None:
    result = _plan(_request(hooks=(job("h", hook="PreSync,PostSync"),)))
    assert [task.phase for task in result.tasks] == ["PreSync", "PostSync"]
    assert all(dig(task.obj, "metadata", "finalizers") for task in result.tasks)


def test_hooks_can_be_left_out() -> None:
    request = replace(_request(hooks=(job("h"),)), options=SyncOptions(skip_hooks=True))
    assert _plan(request).tasks == ()


def test_a_sync_of_some_resources_leaves_out_the_others() -> None:
    pairs = (Pair(thing("a"), None), Pair(thing("b"), None))
    request = replace(_request(*pairs), includes=_only_b)
    assert [task.ref.name for task in _plan(request).tasks] == ["b"]


def test_a_namespace_of_git_is_not_made_twice() -> None:
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    request = replace(_request(Pair(namespace, None)), make_namespace=_as_it_is)
    assert len(_plan(request).tasks) == 1
    as_hook: Object = {**namespace, "metadata": _hook_meta(NAMESPACE)}
    request = replace(_request(hooks=(as_hook,)), make_namespace=_as_it_is)
    assert len(_plan(request).tasks) == 2, "upstream does not see it among the hooks"


class _Unreadable(StubClusterOps):
    def get(self, ref: Ref) -> Object:
        raise Refused(f"cannot read {ref.name}")


def test_a_namespace_that_cannot_be_read_fails_the_operation() -> None:
    request = replace(_request(Pair(thing("a"), None)), make_namespace=_as_it_is)
    ground = _Unreadable()
    last = step(State(), request, ground)
    message = f"namespace auto creation failed: cannot read {NAMESPACE}"
    assert last.message == f"one or more synchronization tasks completed unsuccessfully, reason: {message}"
    assert ground.commands == [], "no dry run once there is a result"


def test_discovery_is_asked_once_for_each_kind() -> None:
    ground = StubClusterOps()
    _plan(_request(*(Pair(thing(f"c{at}"), None) for at in range(9)), Pair(job("j"), None)), ground)
    assert ground.discoveries == 1, "a hook among the pairs is no task"
    refused = StubClusterOps(discovery_errors=[Refused("who?", reason=Reason.UNAUTHORIZED)] * 9)
    assert not _plan(_request(Pair(thing("a"), None), Pair(thing("b"), None)), refused).is_valid
    assert refused.discoveries == 5
