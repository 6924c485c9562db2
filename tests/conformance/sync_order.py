"""sync_order.jsonl: order, phases, waves, hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tests.conformance.checks import mismatch, multiset_mismatch
from whysync.argocd import hooks
from whysync.argocd.compare.reconcile_pairs import pair
from whysync.argocd.hooks import recognition
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.ref import ref_of

_ANY_ORDER = ("phases", "types")


def is_hook_type(name: str) -> bool:
    return name in hooks.HookType.__members__.values()


def is_delete_policy(name: str) -> bool:
    return name in hooks.DeletePolicy.__members__.values()


def deletion_hook_needed(target: Object, live: Object | None, kinds: Iterable[hooks.DeletionHook]) -> bool:
    """Must a hook of the deletion still be created? A live one of any of these kinds is enough."""
    kinds = tuple(kinds)
    expected = any(hooks.is_deletion_hook(target, kind) for kind in kinds)
    exists = live is not None and any(hooks.is_deletion_hook(live, kind) for kind in kinds)
    return expected and not exists


def is_multi_step(tasks: Sequence[hooks.Task]) -> bool:
    return bool(tasks) and (tasks[0].wave, tasks[0].phase) != (tasks[-1].wave, tasks[-1].phase)


def has_delete_policy(task: hooks.Task, policy: hooks.DeletePolicy) -> bool:
    return hooks.is_hook(task.obj) and policy in hooks.delete_policies(task.obj)


def deleted_before_creation(task: hooks.Task) -> bool:
    pending = task.operation_state == ""
    return (
        task.live is not None and pending and has_delete_policy(task, hooks.DeletePolicy.BEFORE_HOOK_CREATION)
    )


def deleted_on_completion(task: hooks.Task) -> bool:
    ends = (hooks.DeletePolicy.HOOK_FAILED, hooks.DeletePolicy.HOOK_SUCCEEDED)
    return task.live is not None and any(has_delete_policy(task, policy) for policy in ends)


def check(record: Object) -> list[str]:
    return _OPS[text(record["op"])](record, fields(record["expect"]))


def _answers(expect: Object, answer: Callable[[str], Json]) -> list[str]:
    failures: list[str] = []
    for name, value in expect.items():
        got = answer(name)
        if name in _ANY_ORDER:
            failures += multiset_mismatch(name, value, items(got))
        else:
            failures += mismatch(name, value, got)
    return failures


def _parse(record: Object, expect: Object) -> list[str]:
    obj = fields(record["object"])
    answers: dict[str, Callable[[], Json]] = {
        "phases": lambda: [phase.value for phase in hooks.sync_phases(obj)],
        "types": lambda: [kind.value for kind in hooks.hook_types(obj)],
        "wave": lambda: hooks.wave_of(obj),
        "delete_policies": lambda: [policy.value for policy in hooks.delete_policies(obj)],
        "is_hook": lambda: hooks.is_hook(obj),
        "skip": lambda: hooks.is_skipped(obj),
        "ignored": lambda: hooks.is_ignored(obj),
        "helm_types": lambda: list(recognition.helm_types(obj)),
        "helm_delete_policies": lambda: list(recognition.helm_delete_policies(obj)),
        "helm_weight": lambda: recognition.helm_weight(obj),
        "is_helm_hook": lambda: hooks.is_helm_hook(obj),
        "is_hook_any": lambda: hooks.is_any_hook(obj),
        "is_pre_delete_hook": lambda: hooks.is_deletion_hook(obj, hooks.DeletionHook.PRE_DELETE),
        "is_post_delete_hook": lambda: hooks.is_deletion_hook(obj, hooks.DeletionHook.POST_DELETE),
        "is_hook_of_type": lambda: {
            kind: hooks.is_deletion_hook(obj, hooks.DeletionHook(kind))
            for kind in fields(expect["is_hook_of_type"])
        },
    }
    return _answers(expect, lambda name: answers[name]())


def _object_or_none(value: Json) -> Object | None:
    return value if isinstance(value, dict) else None


def _task(record: Object) -> hooks.Task:
    target = record.get("target", record.get("object"))
    return hooks.Task(
        phase=text(record.get("phase")) or "Sync",
        target=_object_or_none(target),
        live=_object_or_none(record.get("live")),
        operation_state=text(record.get("operation_state")),
    )


def _one_task(record: Object, expect: Object) -> list[str]:
    task = _task(record)
    answers: dict[str, Callable[[], Json]] = {
        "hook_type": lambda: task.hook_type,
        "wave": lambda: task.wave,
        "has_delete_policy": lambda: {
            policy: has_delete_policy(task, hooks.DeletePolicy(policy))
            for policy in fields(expect["has_delete_policy"])
        },
        "delete_before_creation": lambda: deleted_before_creation(task),
        "delete_on_phase_completion": lambda: deleted_on_completion(task),
    }
    return _answers(expect, lambda name: answers[name]())


def _sort(record: Object, expect: Object) -> list[str]:
    tasks = [_task(fields(raw)) for raw in items(record["tasks"])]
    # tasks are identified by their objects, which sorting does not replace
    names = {
        id(task.obj): text(fields(raw)["task"])
        for task, raw in zip(tasks, items(record["tasks"]), strict=True)
    }
    ordered = hooks.in_order(tasks)
    placed = {names[id(task.obj)]: task for task in ordered}
    failures = mismatch("order", expect["order"], list(placed))
    for name, expected in fields(expect.get("effective")).items():
        for attribute, value in fields(expected).items():
            failures += mismatch(f"{name}.{attribute}", value, getattr(placed[name], attribute))
    return failures


def _task_set(record: Object, expect: Object) -> list[str]:
    tasks = [_task(fields(raw)) for raw in items(record["tasks"])]
    answers: Object = {
        "first_phase": tasks[0].phase if tasks else "",
        "first_wave": tasks[0].wave if tasks else 0,
        "last_phase": tasks[-1].phase if tasks else "",
        "last_wave": tasks[-1].wave if tasks else 0,
        "multi_step": is_multi_step(tasks),
    }
    return _answers(expect, lambda name: answers[name])


def _annotation_csv(record: Object, expect: Object) -> list[str]:
    obj, key = fields(record["object"]), text(record["key"])
    values = hooks.options(obj, key)
    failures = multiset_mismatch("values", expect["values_any_order"], values)
    return failures + mismatch("has", expect["has"], hooks.has_option(obj, key, text(record["option"])))


def _annotation_value(record: Object, expect: Object) -> list[str]:
    value = hooks.option_value(fields(record["object"]), text(record["key"]), text(record["option"]))
    return mismatch("value", expect["value"], value)


def _deletion_wave(record: Object, expect: Object) -> list[str]:
    first = hooks.first_deleted(fields(item) for item in items(record["objects"]))
    return mismatch("selected_waves", expect["selected_waves"], [str(hooks.wave_of(obj)) for obj in first])


def _partition(record: Object, expect: Object) -> list[str]:
    partition = hooks.partition_for_sync(fields(item) for item in items(record["objects"]))
    got: Object = {
        "sync_objects": [ref_of(obj).name for obj in partition.sync],
        "has_pre_delete": partition.has_pre_delete,
        "has_post_delete": partition.has_post_delete,
    }
    return _answers(expect, lambda name: got[name])


def _deletion_hook(record: Object, expect: Object) -> list[str]:
    kinds = [hooks.DeletionHook(text(kind)) for kind in items(record["hook_types"])]
    needed = deletion_hook_needed(fields(record["target"]), _object_or_none(record["live"]), kinds)
    return mismatch("create", expect["create"], needed)


def _pair(record: Object, expect: Object) -> list[str]:
    lives = {ref_of(live).key: live for live in map(fields, items(record["lives"]))}
    targets = [fields(target) for target in items(record["targets"])]
    namespaced = record.get("all_kinds_namespaced")
    scope = None if record.get("discovery") == "fails" else namespaced is not False
    result = pair(targets, lives, namespace=text(record["namespace"]), is_namespaced=lambda _: scope)
    got: list[Json] = [{"target": pair.target, "live": pair.live} for pair in result.pairs]
    return mismatch("pairs", expect["pairs"], got)


_OPS: dict[str, Callable[[Object, Object], list[str]]] = {
    "sort": _sort,
    "kind-order": lambda record, expect: mismatch(
        "kind_order", expect["kind_order"], hooks.kind_rank(text(record["kind"]))
    ),
    "task-set": _task_set,
    "task": _one_task,
    "parse": _parse,
    "map-helm-type": lambda record, expect: mismatch(
        "hook_type", expect["hook_type"], recognition.HELM_TYPES[text(record["helm"])].value
    ),
    "map-helm-delete-policy": lambda record, expect: mismatch(
        "delete_policy", expect["delete_policy"], recognition.HELM_DELETE_POLICIES[text(record["helm"])].value
    ),
    "hook-type-name": lambda record, expect: mismatch(
        "valid", expect["valid"], is_hook_type(text(record["name"]))
    ),
    "delete-policy-name": lambda record, expect: mismatch(
        "valid", expect["valid"], is_delete_policy(text(record["name"]))
    ),
    "annotation-csv": _annotation_csv,
    "annotation-value": _annotation_value,
    "deletion-wave": _deletion_wave,
    "partition-for-sync": _partition,
    "delete-hook-needed": _deletion_hook,
    "pair": _pair,
}
