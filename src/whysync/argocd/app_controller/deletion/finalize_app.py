"""Finalizes an Application that is being deleted, and writes its finalizers and conditions.

The stages are in `app_controller/deletion`. Mirrors the outer part of `finalizeApplicationDeletion`, Argo CD
3.6; differs: while objects are terminating, the next pass comes 5 seconds after one of them has changed, or
when the app would be refreshed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.api.application import Application, Condition, HealthCode
from whysync.argocd.api.project import AppProject
from whysync.argocd.app_controller.app_registry import AppRegistry
from whysync.argocd.app_controller.context import ControllerContext
from whysync.argocd.app_controller.deletion.finalizers import CLEANUP, Finalizers
from whysync.argocd.app_controller.live_cache import LiveCache
from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.compare.app_status import conditions_json, set_conditions
from whysync.argocd.compare.deletion_confirmation import is_confirmed
from whysync.argocd.compare.live_objects import LiveStateProblem
from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.health.application import is_worse
from whysync.argocd.hooks import DeletePolicy, delete_policies, first_deleted
from whysync.argocd.hooks.annotations import SYNC_OPTIONS, has_option, option_value
from whysync.argocd.hooks.recognition import DeletionHook, is_deletion_hook
from whysync.argocd.projects import (
    NoCluster,
    NoServiceAccount,
    ProjectClustersUnknown,
    live_verdict,
    service_account_for,
)
from whysync.argocd.repo_server.server import ManifestRequest, NoTargets
from whysync.argocd.sync.app_request import APPROVED
from whysync.argocd.sync.cluster_ops import ClusterOps, Mode, Reason, Refused
from whysync.argocd.sync.options import Propagation
from whysync.argocd.tracking import instance_name
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Key, ref_of


class AppFinalizer:
    def __init__(self, context: ControllerContext, registry: AppRegistry) -> None:
        self._context = context
        self._registry = registry

    def finalize_app(self, name: str) -> bool:
        app, queue = self._registry.applications[name], self._registry.queues[name]
        writes_before = self._context.write_count
        result = self._finalize(app)
        if not result.finalizers:
            self._registry.trace_event(name, TraceKind.DELETED)
            self._registry.drop(name)
            return True
        now = self._context.clock.now
        finalizers: list[Json] = [*result.finalizers]
        meta: Object = {**fields(app.get("metadata")), "finalizers": finalizers}
        status: Object = {**fields(app.get("status"))}
        status |= conditions_json(conditions_after(app, result, now))
        if result.waits_for and result.waits_for != queue.waits_for:
            self._registry.trace_event(name, TraceKind.STEP, result.waits_for)
            queue.waits_for = result.waits_for
        queue.enqueue_operation(now + (self._context.refresh_timeout or timedelta(minutes=2)))
        changed = self._registry.save(name, {**app, "metadata": meta, "status": status})
        return changed or self._context.write_count != writes_before

    def _finalize(self, app: Object) -> Finalized:
        typed = decode(app, Application)[0] or Application()
        project = self._context.project_of(typed)
        if isinstance(project, str):
            return Finalized(finalizers=Finalizers.of(app).names, error=project)
        try:
            cluster = self._context.cluster_of(typed)
        except NoCluster:
            return finalize_without_cluster(app)
        instance = instance_name(typed.name, typed.namespace, self._context.namespace)
        settings, cache = self._context.settings, self._context.caches[cluster.server]
        user = ""
        if settings.impersonation_enabled:
            try:
                user = service_account_for(
                    project,
                    app_namespace=typed.namespace,
                    destination_namespace=typed.spec.destination.namespace,
                    cluster=cluster,
                )
            except NoServiceAccount as problem:
                message = (
                    f"cannot apply impersonation: error deriving service account to impersonate: {problem}"
                )
                return Finalized(finalizers=Finalizers.of(app).names, error=message)

        def mark(obj: Object) -> Object:
            return settings.with_tracking(obj, app=instance, namespace=typed.spec.destination.namespace)

        return finalize(
            AppDeletion(
                application=app,
                cluster_ops=self._context.cluster_ops(cluster.server, user),
                live=lambda: self._live(cache, instance, typed, project),
                targets=lambda: self._targets(app, typed, instance),
                mark=mark,
            )
        )

    def _live(
        self, cache: LiveCache, instance: str, app: Application, project: AppProject
    ) -> Mapping[Key, Object]:
        self._context.process_writes()
        project_clusters = self._context.clusters_of(app.project)
        try:
            managed = cache.managed(instance, ())
            return {
                key: obj
                for key, obj in managed.items()
                if live_verdict(project, ref_of(obj), cache.destination.cluster, project_clusters).permitted
            }
        except (LiveStateProblem, ProjectClustersUnknown) as problem:
            raise CannotDelete(str(problem)) from problem

    def _targets(self, app: Object, typed: Application, instance: str) -> tuple[Object, ...]:
        spec = fields(app.get("spec"))
        has_multiple = has_multiple_sources(spec)
        sources = (
            [fields(source) for source in items(spec.get("sources"))] if has_multiple else [source_of(spec)]
        )
        request = ManifestRequest(
            application=app,
            instance=instance,
            namespace=typed.spec.destination.namespace,
            settings=self._context.settings,
        )
        revisions = [text(source.get("targetRevision")) for source in sources]
        try:
            return self._context.repo_server.manifests(request, sources, revisions).objects
        except NoTargets as problem:
            raise CannotDelete(str(problem)) from problem


# One pass over an Application that is being deleted: PreDelete hooks, resources, PostDelete hooks, cleanup.
#
# Resources are deleted wave by wave, the highest first; the next wave starts when all deleted objects are
# gone. Mirrors `finalizeApplicationDeletion`, Argo CD 3.6: a pass runs one stage, except that the deletion of
# resources directly follows the PreDelete hooks.


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
