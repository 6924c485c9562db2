"""The ordered tasks of a sync, and whether all of them are valid.

Every step creates this list from the comparison and adds the stored results. Mirrors gitops-engine
`getSyncTasks`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.argocd.api.application import Phase
from whysync.argocd.hooks import (
    SYNC_OPTIONS,
    SyncPhase,
    Task,
    has_option,
    in_order,
    is_hook,
    sync_phases,
    with_prune_last,
    with_prunes_reversed,
)
from whysync.argocd.sync.cluster_ops import ApiResource, ClusterOps, Reason, Refused
from whysync.argocd.sync.hooks import with_hook_finalizer
from whysync.argocd.sync.options import skips_missing_kind
from whysync.argocd.sync.request import NamespaceProblem, Request, is_namespace
from whysync.argocd.sync.results import Code
from whysync.argocd.sync.sync_context import SyncContext
from whysync.argocd.sync.sync_task import SyncTask
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.api.ref import Ref, ref_of

_ATTEMPTS: Final = 5
_PRUNE_LAST: Final = "PruneLast=true"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    tasks: tuple[SyncTask, ...]
    is_valid: bool
    """False if discovery or the project refused a task; then nothing is run."""


def plan(step: SyncContext) -> Plan:
    request = step.request
    tasks = [_in_namespace(task, request.namespace) for task in _generated(request)]
    tasks += _auto_create_namespace(step)
    tasks = [_with_live(task, request) for task in tasks]
    kinds = Kinds(step.cluster_ops)
    is_valid = True
    for task in tasks:
        problem = _problem(task, request, kinds)
        if problem is not None:
            step.set_resource_result(SyncTask(task), Code.SYNC_FAILED, "", problem)
            is_valid = False
    sync_tasks = tuple(
        SyncTask(task, skips_dry_run=_waits_for_definition(task, request, kinds))
        for task in in_order(_with_prune_waves(tasks, request))
    )
    for sync_task in sync_tasks:
        result = step.result_of(sync_task)
        if result is not None:
            sync_task.status, sync_task.state, sync_task.message = (
                result.status,
                result.hook_phase,
                result.message,
            )
    return Plan(tasks=sync_tasks, is_valid=is_valid)


def _generated(request: Request) -> Iterator[Task]:
    """A task for each phase of each object: resources first, then hooks."""
    for pair in request.resources.values():
        if request.includes is not None and not request.includes(pair):
            continue
        obj = pair.target if pair.target is not None else pair.live
        if obj is None or is_hook(obj):
            continue  # a live hook is never pruned
        for phase in sync_phases(obj):
            yield Task(phase=phase.value, target=pair.target, live=pair.live)
    if request.options.skip_hooks:
        return
    for hook in request.hooks:
        for phase in sync_phases(hook):
            yield Task(phase=phase.value, target=_named_hook(hook, phase, request))


def _named_hook(hook: Object, phase: SyncPhase, request: Request) -> Object:
    """Adds the hook finalizer, and a name that is constant during the operation if the hook has none."""
    meta = fields(hook.get("metadata"))
    if text(meta.get("name")):
        return with_hook_finalizer(hook)
    revision = request.revision[:7] if len(request.revision) >= 8 else request.revision
    suffix = f"{revision}-{phase.value}-{int(request.started_at.timestamp())}".lower()
    return with_hook_finalizer(
        {**hook, "metadata": {**meta, "name": f"{text(meta.get('generateName'))}{suffix}"}}
    )


def _in_namespace(task: Task, namespace: str) -> Task:
    """Adds the destination namespace to a target without one, even if its kind is cluster-scoped."""
    if task.target is None or text(dig(task.target, "metadata", "namespace")) or not namespace:
        return task
    meta: dict[str, Json] = {**fields(task.target.get("metadata")), "namespace": namespace}
    return replace(task, target={**task.target, "metadata": meta})


def _auto_create_namespace(step: SyncContext) -> list[Task]:
    """`CreateNamespace=true`: the destination's Namespace, unless Git has it. Mirrors `autoCreateNamespace`.

    A Namespace that is a hook does not count.
    """
    request = step.request
    name, make = request.namespace, request.make_namespace
    if make is None or not name:
        return []
    if any(is_namespace(pair.target, name) for pair in request.resources.values()):
        return []
    bare: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        live = _live_namespace(step.cluster_ops, ref_of(bare))
    except Refused as problem:
        return [_failed_namespace(step, bare, f"namespace auto creation failed: {problem.message}")]
    try:
        namespace = make(bare, live)
    except NamespaceProblem as problem:
        return [_failed_namespace(step, bare, f"namespaceModifier error: {problem}")]
    if namespace is None:
        return []
    return [Task(phase=SyncPhase.PRE_SYNC.value, target=namespace, live=live)]


def _live_namespace(cluster_ops: ClusterOps, ref: Ref) -> Object | None:
    try:
        return cluster_ops.get(ref)
    except Refused as problem:
        if problem.reason is Reason.NOT_FOUND:
            return None
        raise


def _failed_namespace(step: SyncContext, namespace: Object, message: str) -> Task:
    task = Task(phase=SyncPhase.PRE_SYNC.value, target=namespace)
    step.set_resource_result(SyncTask(task), Code.SYNC_FAILED, Phase.ERROR.value, message)
    return task


def _with_live(task: Task, request: Request) -> Task:
    if task.target is None or task.live is not None:
        return task
    live = request.live_of(task.target)
    return task if live is None else replace(task, live=live)


class Kinds:
    """Discovery cache of a step, including errors; `Unauthorized` is retried, up to five attempts."""

    def __init__(self, cluster_ops: ClusterOps) -> None:
        self._cluster_ops = cluster_ops
        self._cache: dict[tuple[str, str], ApiResource | Refused] = {}

    def of(self, obj: Object) -> ApiResource | Refused:
        key = text(obj.get("apiVersion")), text(obj.get("kind"))
        resource = self._cache.get(key)
        if resource is None:
            resource = self._cache[key] = self._discover(*key)
        return resource

    def _discover(self, api_version: str, kind: str) -> ApiResource | Refused:
        for attempt in range(_ATTEMPTS):
            try:
                return self._cluster_ops.discover(api_version, kind, "get")
            except Refused as problem:
                if problem.reason is not Reason.UNAUTHORIZED or attempt == _ATTEMPTS - 1:
                    return problem
        raise AssertionError("not reached")


def _problem(task: Task, request: Request, kinds: Kinds) -> str | None:
    kind = kinds.of(task.obj)
    if isinstance(kind, ApiResource):
        return request.permission_problem(task.obj, kind)
    return None if _waits_for_definition(task, request, kinds) else kind.message


def _waits_for_definition(task: Task, request: Request, kinds: Kinds) -> bool:
    """Is the kind missing, and allowed to be, for example because this sync creates its CRD?"""
    kind = kinds.of(task.obj)
    if isinstance(kind, ApiResource) or kind.reason is not Reason.NOT_FOUND:
        return False
    ref = ref_of(task.obj)
    return skips_missing_kind(task.target or {}, request.options) or request.defines(ref.group, ref.kind)


def _with_prune_waves(tasks: list[Task], request: Request) -> tuple[Task, ...]:
    """Prunes in reverse order of creation; with `PruneLast=true` after everything else."""
    reversed_ = with_prunes_reversed(tasks)
    return with_prune_last(
        reversed_,
        lambda task: request.options.prune_last or has_option(task.live or {}, SYNC_OPTIONS, _PRUNE_LAST),
    )
