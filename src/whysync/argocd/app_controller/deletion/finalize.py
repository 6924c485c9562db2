"""One pass over an Application that is being deleted: PreDelete hooks, resources, PostDelete hooks, cleanup.

Resources are deleted wave by wave, the highest first; the next wave starts when all deleted objects are
gone. Mirrors `finalizeApplicationDeletion`, Argo CD 3.6: a pass runs one stage, except that the deletion of
resources directly follows the PreDelete hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.api.application import Condition, HealthCode
from whysync.argocd.app_controller.deletion.finalizers import CLEANUP, Finalizers
from whysync.argocd.compare.app_status import set_conditions
from whysync.argocd.compare.deletion_confirmation import is_confirmed
from whysync.argocd.health.application import is_worse
from whysync.argocd.hooks import DeletePolicy, delete_policies, first_deleted
from whysync.argocd.hooks.annotations import SYNC_OPTIONS, has_option, option_value
from whysync.argocd.hooks.recognition import DeletionHook, is_deletion_hook
from whysync.argocd.sync.app_request import APPROVED
from whysync.argocd.sync.cluster_ops import ClusterOps, Mode, Reason, Refused
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Key, ref_of

DELETION_ERROR: Final = "DeletionError"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class CannotDelete(Exception):
    """Live objects or manifests could not be read; the text becomes the condition's message."""


class AppDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs of a pass; `application` is raw and has a `deletionTimestamp`.

    - `live` returns the current managed objects that the project permits;
    - `targets` returns all manifests of the Application, including hooks; it is only called for hooks;
    - `mark` adds the tracking metadata of the Application to an object.

    `live` and `targets` may raise `CannotDelete`.
    """

    application: Object
    cluster_ops: ClusterOps
    live: Callable[[], Mapping[Key, Object]]
    targets: Callable[[], Sequence[Object]] = tuple
    mark: Callable[[Object], Object] = lambda obj: obj


class Finalized(msgspec.Struct, frozen=True, kw_only=True):
    finalizers: tuple[str, ...]
    """The remaining finalizers; without any, the Application is removed."""
    error: str = ""
    waits_for: str = ""
    """What Argo CD logs while it waits."""


def finalize(deletion: AppDeletion) -> Finalized:
    return _Finalization(deletion).run()


def finalize_without_cluster(application: Object) -> Finalized:
    """The destination is unknown: Argo CD removes its finalizers, and the objects there stay."""
    finalizers = Finalizers.of(application)
    finalizers.remove_all()
    return Finalized(finalizers=finalizers.names)


def conditions_after(application: Object, finalized: Finalized, now: datetime) -> tuple[Condition, ...]:
    """The Application's conditions. An error stays even if the next pass succeeds."""
    rows = [
        decode(fields(condition), Condition)[0]
        for condition in items(dig(application, "status", "conditions"))
    ]
    before = tuple(row for row in rows if row is not None)
    if not finalized.error:
        return before
    if any((condition.type, condition.message) == (DELETION_ERROR, finalized.error) for condition in before):
        return before
    deletion_error = Condition(type=DELETION_ERROR, message=finalized.error)
    return tuple(set_conditions(before, [deletion_error], [DELETION_ERROR], now))


class _Finalization:
    def __init__(self, deletion: AppDeletion) -> None:
        self.deletion = deletion
        self.app = deletion.application
        self.finalizers = Finalizers.of(deletion.application)
        self.options = [
            text(sync_option) for sync_option in items(dig(self.app, "spec", "syncPolicy", "syncOptions"))
        ]
        self.waits_for = ""

    def run(self) -> Finalized:
        error = ""
        try:
            self._stages()
        except Refused as problem:
            error = problem.message
        except (CannotDelete, HooksFailed) as problem:
            error = str(problem)
        return Finalized(finalizers=self.finalizers.names, error=error, waits_for=self.waits_for)

    def _stages(self) -> None:
        before, after = DeletionHook.PRE_DELETE, DeletionHook.POST_DELETE
        if self.finalizers.has(before):
            live = self._live_objects("error getting permitted app live objects: ")
            if not self._run_hooks(before, live, "error executing pre-delete hooks: "):
                return
            self.finalizers.remove(before)
        if self.finalizers.cascades:
            if self._delete_resources():
                self.finalizers.stop_cascading()
        elif self.finalizers.has(after):
            if self._run_hooks(after, self._live_objects(), ""):
                self.finalizers.remove(after)
        elif self.finalizers.has(before, CLEANUP):
            live = self._live_objects("error getting permitted app live objects for pre-delete cleanup: ")
            if self._clean_up(before, live, "error cleaning up pre-delete hooks: "):
                self.finalizers.remove(before, CLEANUP)
        elif self.finalizers.has(after, CLEANUP) and self._clean_up(after, self._live_objects(), ""):
            self.finalizers.remove(after, CLEANUP)

    def _live_objects(self, error_prefix: str = "") -> Mapping[Key, Object]:
        try:
            return self.deletion.live()
        except CannotDelete as problem:
            raise CannotDelete(f"{error_prefix}{problem}") from problem

    def _run_hooks(self, kind: DeletionHook, live: Mapping[Key, Object], error_prefix: str) -> bool:
        try:
            done = run_hooks(
                self.deletion.cluster_ops,
                kind,
                live,
                self.deletion.targets(),
                namespace=text(dig(self.app, "spec", "destination", "namespace")),
                mark=self.deletion.mark,
            )
        except Refused as problem:
            raise CannotDelete(f"{error_prefix}{problem.message}") from problem
        except (CannotDelete, HooksFailed) as problem:
            raise CannotDelete(f"{error_prefix}{problem}") from problem
        if not done:
            self.waits_for = f"waiting for {kind.value} hooks to complete"
        return done

    def _clean_up(self, kind: DeletionHook, live: Mapping[Key, Object], error_prefix: str) -> bool:
        try:
            done = clean_up(self.deletion.cluster_ops, kind, live)
        except Refused as problem:
            raise CannotDelete(f"{error_prefix}{problem.message}") from problem
        if not done:
            self.waits_for = f"waiting for {kind.value} hooks to be deleted"
        return done

    def _delete_resources(self) -> bool:
        live = self._live_objects()
        if any(dig(obj, "metadata", "deletionTimestamp") for obj in live.values()):
            self.waits_for = f"{len(live)} objects remaining for deletion"
            return False
        to_delete = {key: obj for key, obj in sorted(live.items()) if self._is_deleted(obj)}
        unconfirmed = self._unconfirmed()
        waiting = next((key for key in to_delete if key in unconfirmed), None)
        if waiting is not None:
            self.waits_for = f"Resource {waiting} requires manual confirmation to delete"
            return False
        for obj in first_deleted(to_delete.values()):
            self.deletion.cluster_ops.delete(ref_of(obj), self.finalizers.propagation)
        remaining = [obj for obj in self._live_objects().values() if self._is_deleted(obj)]
        if remaining:
            self.waits_for = f"{len(remaining)} objects remaining for deletion"
        return not remaining

    def _is_deleted(self, obj: Object) -> bool:
        return fate_of(obj, self.app, self.options) is Fate.DELETED

    def _unconfirmed(self) -> frozenset[Key]:
        """Objects that require a confirmation (`Delete=confirm`, `Prune=confirm`) which is not given yet."""
        approved = text(dig(self.app, "metadata", "annotations", APPROVED))
        if is_confirmed(approved, _parsed_time(text(dig(self.app, "metadata", "deletionTimestamp")))):
            return frozenset()
        rows = [fields(row) for row in items(dig(self.app, "status", "resources"))]
        return frozenset(_key(row) for row in rows if row.get("requiresDeletionConfirmation") is True)


def _key(row: Object) -> Key:
    """The key of a row of `status.resources`."""
    group, kind, namespace, name = (text(row.get(key)) for key in ("group", "kind", "namespace", "name"))
    return Key(group, kind, namespace, name)


def _parsed_time(stamp: str) -> datetime:
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return _EPOCH


_HELM_POLICY: Final = "helm.sh/resource-policy"
_DELETE: Final = "Delete"


class Fate(StrEnum):
    DELETED = "deleted"
    KEPT_BY_OPTION = "kept-by-option"
    """`Delete=false` on the object or on the Application; the object's option takes precedence."""
    KEPT_BY_HELM = "kept-by-helm"
    KEPT_AS_CRD = "kept-as-crd"
    """CRDs are never deleted, because that would delete all their objects."""
    IS_THE_APP = "is-the-app"


def fate_of(obj: Object, app: Object, sync_options: Iterable[str]) -> Fate:
    """Is the object deleted with its Application? Mirrors `shouldBeDeleted`, Argo CD 3.6."""
    ref = ref_of(obj)
    if ref.group == "apiextensions.k8s.io" and ref.kind == "CustomResourceDefinition":
        return Fate.KEPT_AS_CRD
    if ref.group == "argoproj.io" and ref.kind == "Application" and _identity(obj) == _identity(app):
        return Fate.IS_THE_APP
    option = option_value(obj, SYNC_OPTIONS, _DELETE)
    if option is None:
        prefix = f"{_DELETE}="
        option = next(
            (
                sync_option.removeprefix(prefix)
                for sync_option in sync_options
                if sync_option.startswith(prefix)
            ),
            None,
        )
    if option == "false":
        return Fate.KEPT_BY_OPTION
    return Fate.KEPT_BY_HELM if has_option(obj, _HELM_POLICY, "keep") else Fate.DELETED


def _identity(obj: Object) -> tuple[str, str, str]:
    return (
        text(dig(obj, "metadata", "uid")),
        text(dig(obj, "metadata", "namespace")),
        text(dig(obj, "metadata", "name")),
    )


# PreDelete and PostDelete hooks: creation, waiting, cleanup.
#
# Mirrors `executeHooks` and `cleanupHooks` of the application controller, Argo CD 3.6. Unlike the hooks of a
# sync they are created, not applied; a hook that fails is deleted and created again, without a limit.


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
