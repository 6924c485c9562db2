"""The smaller questions of sync_run.jsonl: plans, messages, options, migrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tests.argocd.sync.stub import StubClusterOps
from tests.conformance.checks import contains, mismatch
from tests.conformance.sync_run_given import ground_of, object_or_none, request_of, result_of
from whysync.argocd.api.application import ResourceResult
from whysync.argocd.hooks import Task
from whysync.argocd.sync.cluster_ops import Reason, Refused
from whysync.argocd.sync.csa_migration import migrate
from whysync.argocd.sync.options import (
    Propagation,
    SyncOptions,
    needs_migration,
    uses_server_side_apply,
)
from whysync.argocd.sync.results import State
from whysync.argocd.sync.step import execute_sync_fail_phase
from whysync.argocd.sync.sync_context import SyncContext
from whysync.argocd.sync.sync_task import SyncTask
from whysync.argocd.sync.tasks import Plan, plan
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import ref_of


def pruning_required(results: Iterable[ResourceResult]) -> int:
    """How many objects a sync left that pruning would delete; those that forbid it do not count."""
    return sum(
        1 for result in results if result.status == "PruneSkipped" and "no prune" not in result.message
    )


def _plan(record: Object, expect: Object) -> list[str]:
    ground = ground_of(record)
    results = [
        result_of(fields(previous_result)) for previous_result in items(record.get("previous_results"))
    ]
    state = State(results=tuple(results))
    result = plan(SyncContext(state, request_of(record, record["pairs"]), ground))
    failures: list[str] = []
    for name, value in expect.items():
        failures += mismatch(name, value, _PLAN[name](result, ground, value))
    return failures


def _by_name(result: Plan, expected: Json, answer: Callable[[SyncTask], Json]) -> Json:
    tasks = {task.ref.name: task for task in result.tasks}
    return {name: answer(tasks[name]) for name in fields(expected)}


def _first_task(result: Plan, _ground: StubClusterOps, _expected: Json) -> Json:
    first = result.tasks[0]
    return {
        "phase": first.phase,
        "status": first.status,
        "operation_state": first.state,
        "message": first.message,
    }


def _names_contain(result: Plan, _ground: StubClusterOps, expected: Json) -> Json:
    """The expected fragments that the name of the task at the same index contains."""
    pairs = zip(items(expected), result.tasks, strict=True)
    return [fragment for fragment, task in pairs if text(fragment) in task.ref.name]


_PLAN: Final[dict[str, Callable[[Plan, StubClusterOps, Json], Json]]] = {
    "plan_valid": lambda plan, _ground, _expected: plan.is_valid,
    "task_count": lambda plan, _ground, _expected: len(plan.tasks),
    "task_names": lambda plan, _ground, _expected: [task.ref.name for task in plan.tasks],
    "task_names_contain": _names_contain,
    "task_namespaces": lambda plan, _ground, _expected: [task.ref.namespace for task in plan.tasks],
    "waves": lambda plan, _ground, expected: _by_name(plan, expected, lambda task: task.wave),
    "last_wave": lambda plan, _ground, _expected: plan.tasks[-1].wave,
    "dry_run": lambda plan, _ground, expected: _by_name(plan, expected, lambda task: not task.skips_dry_run),
    "namespace_pre_sync_task": lambda plan, _ground, _expected: any(
        task.ref.kind == "Namespace" and task.phase == "PreSync" for task in plan.tasks
    ),
    "first_task": _first_task,
    "discovery_calls": lambda _plan, ground, _expected: ground.discoveries,
}


def _server_side(record: Object, expect: Object) -> list[str]:
    options = SyncOptions(dry_run=record.get("operation_dry_run") is True)
    got = uses_server_side_apply(fields(record["object"]), options, dry_run=record.get("dry_run") is True)
    return mismatch("server_side_apply", expect["server_side_apply"], got)


def _find_live(record: Object, expect: Object) -> list[str]:
    live = request_of(record, record["pairs"]).live_of(fields(record["object"]))
    return mismatch("found", expect["found"], live)


def _has_crd(record: Object, expect: Object) -> list[str]:
    request = request_of(record, record["pairs"])
    got = request.defines(text(record["group"]), text(record["kind"]))
    return mismatch("has_crd", expect["has_crd"], got)


def _running_message(record: Object, expect: Object) -> list[str]:
    now = SyncContext(State(), request_of(record, []), StubClusterOps())
    tasks = [SyncTask(Task(live=fields(obj), target=fields(obj))) for obj in items(record["objects"])]
    now.set_running_phase(tasks, for_deletion=record.get("pending_deletion") is True)
    return mismatch("phase", expect["phase"], now.phase) + mismatch("message", expect["message"], now.message)


def _delete_options(record: Object, expect: Object) -> list[str]:
    policy = record.get("prune_propagation_policy")
    options: list[Json] = [f"PrunePropagationPolicy={text(policy).lower()}"] if policy else []
    got: Propagation = SyncOptions.of({"syncOptions": options}).propagation
    return mismatch("propagation_policy", expect["propagation_policy"], got.value)


def _fail_phase(record: Object, expect: Object) -> list[str]:
    now = SyncContext(State(), request_of(record, []), StubClusterOps())
    refused = [
        _work(f"refused-{at}", message=result) for at, result in _numbered(record["failed_task_messages"])
    ]
    hooks: list[SyncTask] = []
    for at, result in _numbered(record["sync_fail_tasks"]):
        document = fields(result)
        hook = _work(f"hook-{at}", message=document.get("message"))
        hook.state, hook.status = text(document.get("operation_state")), text(document.get("status"))
        hooks.append(hook)
    execute_sync_fail_phase(now, hooks, refused, text(record["message"]))
    answers = {"phase": now.phase, "message": now.message}
    return [result for name, value in expect.items() for result in mismatch(name, value, answers[name])]


def _numbered(value: Json) -> Sequence[tuple[int, Json]]:
    return tuple(enumerate(items(value)))


def _work(name: str, *, message: Json) -> SyncTask:
    task = SyncTask(Task(target={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}))
    task.message = text(message)
    return task


def _needs_migration(record: Object, expect: Object) -> list[str]:
    got = needs_migration(object_or_none(record["live"]), text(record["manager"]))
    return mismatch("needs_migration", expect["needs_migration"], got)


def _migrate(record: Object, expect: Object) -> list[str]:
    live = fields(record["live"])
    cluster_ops = StubClusterOps(
        objects={ref_of(live): live},
        patch_errors=[Refused("conflict", reason=Reason.CONFLICT)] * integer(record.get("patch_conflicts")),
    )
    error = False
    try:
        manager = text(record["server_side_apply_manager"])
        migrate(cluster_ops, live, from_manager=text(record["manager"]), to_manager=manager)
    except Refused:
        error = True
    failures = mismatch("error", expect["error"], error)
    if "patch_attempts" in expect:
        failures += mismatch("patch_attempts", expect["patch_attempts"], len(cluster_ops.patches))
    if "no_managed_fields_entry" in expect:
        unwanted = fields(expect["no_managed_fields_entry"])
        rows = items(dig(cluster_ops.patches[-1], 0, "value")) if cluster_ops.patches else [unwanted]
        failures += [f"managedFields: {row} is left" for row in rows if contains(row, unwanted)]
    return failures


def _strategy(record: Object, expect: Object) -> list[str]:
    options = SyncOptions.of({"syncStrategy": record["strategy"]})
    answers = {"force": options.force, "is_apply": options.skip_hooks}
    return [result for name, value in expect.items() for result in mismatch(name, value, answers[name])]


def _pruning_required(record: Object, expect: Object) -> list[str]:
    result = [fields(item) for item in items(record["results"])]
    results = [
        ResourceResult(status=text(item.get("status")), message=text(item.get("message"))) for item in result
    ]
    return mismatch("pruning_required", expect["pruning_required"], pruning_required(results))


CHECKS: Final[dict[str, Callable[[Object, Object], list[str]]]] = {
    "plan": _plan,
    "should-server-side-apply": _server_side,
    "find-live": _find_live,
    "has-crd": _has_crd,
    "running-message": _running_message,
    "delete-options": _delete_options,
    "fail-phase": _fail_phase,
    "needs-csa-migration": _needs_migration,
    "csa-migrate": _migrate,
    "sync-strategy": _strategy,
    "pruning-required": _pruning_required,
}
