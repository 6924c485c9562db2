"""PreDelete and PostDelete hooks: creation, waiting, cleanup.

Mirrors `executeHooks` and `cleanupHooks` of the application controller, Argo CD 3.6. Unlike the hooks of a
sync they are created, not applied; a hook that fails is deleted and created again, without a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.application import is_worse
from whysync.argocd.hooks import DeletePolicy, delete_policies
from whysync.argocd.hooks.recognition import DeletionHook, is_deletion_hook
from whysync.argocd.sync.cluster_ops import ClusterOps, Mode, Reason, Refused
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.ref import Key, ref_of


class HooksFailed(Exception):
    """A hook failed; the text becomes the condition's message."""


def run_hooks(
    cluster_ops: ClusterOps,
    kind: DeletionHook,
    live: Mapping[Key, Object],
    targets: Iterable[Object],
    *,
    namespace: str,
    mark: Callable[[Object], Object],
) -> bool:
    """Creates missing hooks; true if all have finished. Raises `Refused` and `HooksFailed`.

    `targets` are all manifests of the Application; `mark` adds its tracking metadata to a hook.
    """
    running = {key: obj for key, obj in live.items() if is_deletion_hook(obj, kind)}
    if _create(cluster_ops, _missing(kind, running, targets, namespace), mark):
        return False
    health = {key: _health(cluster_ops, obj) for key, obj in sorted(running.items())}
    failed = [key for key, code in health.items() if code is HealthCode.DEGRADED]
    if failed:
        for key in failed:
            _delete_quietly(cluster_ops, running[key])
        names = ", ".join(f"{key.namespace}/{key.name}" for key in failed)
        raise HooksFailed(f"{kind.value} hook(s) failed: {names}")
    return HealthCode.PROGRESSING not in health.values()


def clean_up(cluster_ops: ClusterOps, kind: DeletionHook, live: Mapping[Key, Object]) -> bool:
    """Deletes hooks by their delete policy; true if none is left to delete. Raises `Refused`.

    A hook without a policy has the policy `BeforeHookCreation`, so it is not deleted.
    """
    hooks = [obj for _, obj in sorted(live.items()) if is_deletion_hook(obj, kind)]
    worst = HealthCode.HEALTHY
    for obj in hooks:
        code = _health(cluster_ops, obj)
        if is_worse(code, than=worst):
            worst = code
    to_delete = [obj for obj in hooks if _is_deleted(obj, worst)]
    for obj in to_delete:
        if not dig(obj, "metadata", "deletionTimestamp"):
            try:
                _delete(cluster_ops, obj)
            except Refused as problem:
                if problem.reason is not Reason.NOT_FOUND:
                    raise
    return not to_delete


def _is_deleted(hook: Object, worst: HealthCode) -> bool:
    policies = delete_policies(hook)
    return (DeletePolicy.HOOK_FAILED in policies and worst is HealthCode.DEGRADED) or (
        DeletePolicy.HOOK_SUCCEEDED in policies and worst is HealthCode.HEALTHY
    )


def _missing(
    kind: DeletionHook, running: Mapping[Key, Object], targets: Iterable[Object], namespace: str
) -> list[Object]:
    missing: dict[Key, Object] = {}
    for target in targets:
        if not is_deletion_hook(target, kind):
            continue
        meta = fields(target.get("metadata"))
        hook: Object = target
        if not meta.get("namespace") and namespace:
            hook = {**target, "metadata": {**meta, "namespace": namespace}}
        key = ref_of(hook).key
        if key not in running:
            missing[key] = hook
    return [obj for _, obj in sorted(missing.items())]


def _create(cluster_ops: ClusterOps, hooks: Iterable[Object], mark: Callable[[Object], Object]) -> int:
    """Creates the hooks and returns how many were created; an existing one is not an error."""
    created = 0
    for hook in hooks:
        ref = ref_of(hook)
        try:
            cluster_ops.discover(ref.api_version, ref.kind, "create")
        except Refused as problem:
            raise problem.within("failed to get api resource") from problem
        try:
            cluster_ops.create(mark(hook), Mode())
        except Refused as problem:
            if problem.reason is not Reason.ALREADY_EXISTS:
                raise
        else:
            created += 1
    return created


def _health(cluster_ops: ClusterOps, obj: Object) -> HealthCode:
    """Raises `Refused`. A kind without a health check is healthy."""
    assessed = cluster_ops.health(obj)
    if assessed is None:
        return HealthCode.HEALTHY
    if assessed.error is not None:
        raise Refused(assessed.error)
    return assessed.verdict.code or HealthCode.HEALTHY


def _delete(cluster_ops: ClusterOps, obj: Object) -> None:
    cluster_ops.delete(ref_of(obj), Propagation.FOREGROUND)


def _delete_quietly(cluster_ops: ClusterOps, obj: Object) -> None:
    """Deletes a hook; upstream only logs a failure."""
    try:
        _delete(cluster_ops, obj)
    except Refused:
        return
