"""Finalizes an Application that is being deleted, and writes its finalizers and conditions.

The stages are in `app_controller/deletion`. Mirrors the outer part of `finalizeApplicationDeletion`, Argo CD
3.6; differs: while objects are terminating, the next pass comes 5 seconds after one of them has changed, or
when the app would be refreshed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.argocd.app_controller.app_registry import AppRegistry
from whysync.argocd.app_controller.context import ControllerContext
from whysync.argocd.app_controller.deletion.finalize import (
    AppDeletion,
    CannotDelete,
    Finalized,
    conditions_after,
    finalize,
    finalize_without_cluster,
)
from whysync.argocd.app_controller.deletion.finalizers import Finalizers
from whysync.argocd.app_controller.live_cache import LiveCache
from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.compare.app_status import conditions_json
from whysync.argocd.compare.live_objects import LiveStateProblem
from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.projects import (
    NoCluster,
    NoServiceAccount,
    ProjectClustersUnknown,
    live_verdict,
    service_account_for,
)
from whysync.argocd.repo_server.server import ManifestRequest, NoTargets
from whysync.argocd.tracking import instance_name
from whysync.json_tree import Json, Object, fields, items, text
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
