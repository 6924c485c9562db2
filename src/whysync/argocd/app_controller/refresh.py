"""Refreshes one Application, if that is due.

Mirrors `processAppRefreshQueueItem`, Argo CD 3.6: validates project and spec, compares the app, runs
auto-sync and writes the status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from whysync.argocd.api.application import Application, Condition
from whysync.argocd.app_controller.app_registry import AppRegistry, QueueState
from whysync.argocd.app_controller.auto_sync import AutoSync, AutoSyncReason, auto_sync
from whysync.argocd.app_controller.compare_app import (
    CompareContext,
    Compared,
    CompareTarget,
    compare_app,
    target_from_spec,
)
from whysync.argocd.app_controller.context import ControllerContext
from whysync.argocd.app_controller.deletion.finalizers import with_hook_finalizers
from whysync.argocd.app_controller.live_cache import LiveCache
from whysync.argocd.app_controller.need_refresh import (
    REFRESH,
    Refresh,
    RefreshReason,
    need_refresh,
    spec_conditions,
)
from whysync.argocd.app_controller.operation_state import CompareWith
from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.compare.app_status import conditions_json, go_time, set_conditions
from whysync.argocd.compare.compare_app_state import NotComparedYet
from whysync.argocd.compare.comparison import Memory
from whysync.argocd.compare.orphans import orphan_warning, orphans
from whysync.argocd.projects import NoCluster
from whysync.argocd.sync_windows.windows import can_sync, matching
from whysync.argocd.tracking import instance_name
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode

_INSTANT: Final = timedelta(microseconds=1)
"""Upstream requires that more than the timeout has passed; here the check runs exactly then."""
_SYNC_ERROR: Final = "SyncError"
_ORPHANS: Final = "OrphanedResourceWarning"


class Refresher:
    def __init__(self, context: ControllerContext, registry: AppRegistry) -> None:
        self._context = context
        self._registry = registry
        self._summaries: dict[str, tuple[int, Object]] = {}

    def process_refresh(self, name: str) -> bool:
        """True if the Application was changed."""
        app, queue = self._registry.applications[name], self._registry.queues[name]
        queue.queued = False
        context, now = self._context, self._context.clock.now
        if not context.can_process_app(app):
            return False
        refresh = need_refresh(
            app,
            now,
            soft=_shortened(context.refresh_timeout),
            hard=_shortened(context.hard_refresh_timeout),
            requested=() if queue.level is None else (queue.level,),
        )
        if refresh.reason is RefreshReason.CONTROLLER:
            queue.level = None
        changed = refresh.reason is not None and self._refresh(name, app, queue, refresh)
        self._schedule_expiry(name, queue)
        return changed

    def _schedule_expiry(self, name: str, queue: QueueState) -> None:
        context, now = self._context, self._context.clock.now
        reconciled = _time(dig(self._registry.applications[name], "status", "reconciledAt"))
        expiries: list[datetime] = []
        for timeout in (context.refresh_timeout, context.hard_refresh_timeout):
            if timeout > timedelta():
                expiry = reconciled + timeout if reconciled is not None else now
                expiries.append(expiry if expiry > now else now + timeout)
        queue.expires_at = min(expiries, default=None)

    def _refresh(self, name: str, app: Object, queue: QueueState, refresh: Refresh) -> bool:
        typed = decode(app, Application)[0] or Application()
        cache = self._context.cache_of(typed)
        if refresh.level is CompareWith.ComparisonWithNothing and cache is not None and queue.compared:
            return self._persist(name, app, {**fields(app.get("status")), **self._summary(typed, cache)})
        now = self._context.clock.now
        self._registry.trace_event(name, TraceKind.REFRESHED, _refresh_text(refresh))
        if refresh.reason is RefreshReason.REQUESTED:
            queue.memory_inputs = ()  # the API server may now answer a dry run differently
        checked = spec_conditions(
            typed,
            self._context.decoded_projects(),
            self._context.clusters,
            now,
            controller_namespace=self._context.namespace,
        )
        status = {**fields(app.get("status")), **conditions_json(checked.conditions)}
        if not checked.conditions:
            status.pop("conditions", None)
        if checked.has_errors:
            return self._persist(name, app, unknown(status, now))
        recent = refresh.level is CompareWith.CompareWithRecent
        forced = refresh.level is CompareWith.CompareWithLatestForceResolve
        with_conditions: Object = {**app, "status": status}
        target = target_from_spec(with_conditions, recent=recent, hard=refresh.hard, fresh=forced)
        try:
            compared = self.compare(name, with_conditions, target, forced=forced)
        except (NotComparedYet, NoCluster):
            return False
        queue.compared = True
        queue.targets = compared.comparison.inputs.targets
        return self._conclude(name, app, typed, compared, refresh)

    # --- comparing -------------------------------------------------------------------------------

    def compare(self, name: str, app: Object, target: CompareTarget, *, forced: bool) -> Compared:
        """Raises `NotComparedYet` while a repository error is not reported yet, and `NoCluster`."""
        context, queue = self._context, self._registry.queues[name]
        typed = decode(app, Application)[0] or Application()
        project = context.decoded_projects()[typed.project]
        cluster = context.cluster_of(typed)
        cache = context.caches[cluster.server]
        compare_context = CompareContext(
            settings=context.settings,
            project=project,
            cluster=cluster,
            project_clusters=context.clusters_of(typed.project),
            live=cache,
            repo_server=context.repo_server,
            namespace=context.namespace,
            now=context.clock.now,
            dry_run=context.dry_run(cluster.server),
            memory=_memory(queue, app, context.settings, project, cache, cache.schemas, cache.scopes),
        )
        try:
            compared = compare_app(
                app, typed, target, compare_context, error_since=queue.repo_error_since, forced=forced
            )
        except NotComparedYet:
            queue.repo_error_since = queue.repo_error_since or context.clock.now
            raise
        if compared.comparison.inputs.target_error is None:
            queue.repo_error_since = None
        return compared

    # --- status and auto-sync --------------------------------------------------------------------

    def _conclude(
        self, name: str, app: Object, typed: Application, compared: Compared, refresh: Refresh
    ) -> bool:
        context, queue, now = self._context, self._registry.queues[name], self._context.clock.now
        comparison = compared.comparison
        status = dict(comparison.status)
        before = fields(app.get("status"))
        if refresh.level < CompareWith.CompareWithLatest and before.get("reconciledAt"):
            status["reconciledAt"] = before["reconciledAt"]
        status |= source_types(comparison.inputs.spec, compared.source_types)
        status["controllerNamespace"] = context.namespace
        cache = context.cache_of(typed)
        if cache is not None:
            status |= self._summary(typed, cache)
            status = self._orphans(typed, cache, compared, status)
        decision = self._decide(name, app, typed, status, compared)
        if decision.reason is not AutoSyncReason.WINDOW:
            status = with_condition(status, _SYNC_ERROR, decision.condition, now)
        after: Object = {**app, "status": status}
        if decision.operation is not None:
            # A new operation clears the state of the last one.
            after["operation"] = decision.operation
            status.pop("operationState", None)
        if decision.retry_in is not None:
            queue.request_refresh_at(CompareWith.CompareWithLatest, now + decision.retry_in)
        after = with_finalizers(
            after, pre=comparison.has_pre_delete_hooks, post=comparison.has_post_delete_hooks
        )
        return self._registry.save(name, without_refresh(after))

    def _decide(
        self, name: str, app: Object, typed: Application, status: Object, compared: Compared
    ) -> AutoSync:
        context, queue = self._context, self._registry.queues[name]
        project = context.decoded_projects()[typed.project]
        windows = can_sync(matching(project.spec.sync_windows, typed), context.clock.now, manual=False)
        rows = [fields(row) for row in items(status.get("resources"))]
        decision = auto_sync(
            app,
            context.clock.now,
            sync_status=fields(status.get("sync")),
            resources=rows,
            revisions_have_changes=compared.has_changes,
            backoff=context.timings.self_heal,
            windows=windows,
        )
        reason = str(decision.reason)
        if reason != queue.auto_sync_reason or decision.starts:
            if decision.reason not in (AutoSyncReason.NOT_AUTOMATED, AutoSyncReason.DISABLED):
                self._registry.trace_event(name, TraceKind.AUTO_SYNC, _why(decision), status=reason)
            queue.auto_sync_reason = reason
        return decision

    def _summary(self, typed: Application, cache: LiveCache) -> Object:
        instance = instance_name(typed.name, typed.namespace, self._context.namespace)
        cached = self._summaries.get(instance)
        if cached is None or cached[0] != cache.position:
            cached = self._summaries[instance] = cache.position, summary_of(cache.tree(instance))
        return {"summary": cached[1]}

    def _orphans(self, typed: Application, cache: LiveCache, compared: Compared, status: Object) -> Object:
        """The status with the orphaned resources warning, if the project enables it."""
        project = self._context.decoded_projects()[typed.project]
        count = 0
        if project.spec.orphaned_resources is not None and not cache.destination.unreachable:
            names = (
                instance_name(name.partition("/")[2], name.partition("/")[0], self._context.namespace)
                for name in self._registry.applications
            )
            keys = orphans(
                project,
                cache.top_level(typed.spec.destination.namespace),
                managed=(resource.key for resource in compared.comparison.resources),
                existing_apps=names,
            )
            count = sum(1 for _ in cache.below(keys))
        message = orphan_warning(project, count) or ""
        return with_condition(status, _ORPHANS, message, self._context.clock.now)

    def _persist(self, name: str, app: Object, status: Object) -> bool:
        return self._registry.save(name, without_refresh({**app, "status": status}))


def _memory(queue: QueueState, app: Object, *shared_inputs: object) -> Memory:
    """The diff memory of the app; a new one if `shared_inputs` or the app's compare settings have changed."""
    spec, meta = fields(app.get("spec")), fields(app.get("metadata"))
    policy = fields(spec.get("syncPolicy"))
    app_inputs = (
        spec.get("ignoreDifferences"),
        spec.get("destination"),
        policy.get("syncOptions"),
        policy.get("managedNamespaceMetadata"),
        fields(meta.get("annotations")).get("argocd.argoproj.io/compare-options"),
    )
    inputs = (*shared_inputs, app_inputs)
    same = len(queue.memory_inputs) == len(inputs) and all(
        previous is shared for previous, shared in zip(queue.memory_inputs[:-1], shared_inputs, strict=True)
    )
    if not queue.memory_inputs or not same or queue.memory_inputs[-1] != app_inputs:
        queue.memory = Memory()
        queue.memory_inputs = inputs
    return queue.memory


def _refresh_text(refresh: Refresh) -> str:
    kind = "hard " if refresh.hard else ""
    return f"{kind}{refresh.reason} (level {int(refresh.level)})"


def _why(decision: AutoSync) -> str:
    if decision.condition:
        return f"{decision.reason}: {decision.condition}"
    if decision.retry_in is not None:
        return f"{decision.reason}: again in {decision.retry_in.total_seconds():g}s"
    return str(decision.reason)


def _shortened(timeout: timedelta) -> timedelta:
    return timeout - _INSTANT if timeout > timedelta() else timeout


def _time(value: object) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return parsed if parsed is not None and parsed.tzinfo is not None else None


def with_condition(status: Object, type: str, message: str, now: datetime) -> Object:
    """The status with this condition as the only one of its type; without it if `message` is empty."""
    before = [decode(fields(condition), Condition)[0] for condition in items(status.get("conditions"))]
    incoming = [Condition(type=type, message=message)] if message else []
    after = set_conditions(
        [condition for condition in before if condition is not None], incoming, (type,), now
    )
    remaining: Object = {key: value for key, value in status.items() if key != "conditions"}
    return remaining | conditions_json(after)


def unknown(status: Object, now: datetime) -> Object:
    """The status of an app whose project or spec is invalid; nothing was compared."""
    sync: Object = {**fields(status.get("sync")), "status": "Unknown"}
    health = fields(status.get("health"))
    after: Object = {"status": "Unknown"}
    if health.get("status") != "Unknown":
        after["lastTransitionTime"] = go_time(now)
    elif health.get("lastTransitionTime") is not None:
        after["lastTransitionTime"] = health["lastTransitionTime"]
    return {**status, "sync": sync, "health": after}


def source_types(spec: Object, types: tuple[str, ...]) -> Object:
    if not types:
        return {}
    type_list: list[Json] = [*types]
    return {"sourceTypes": type_list} if items(spec.get("sources")) else {"sourceType": types[0]}


def without_refresh(app: Object) -> Object:
    """The Application without the refresh annotations."""
    meta = fields(app.get("metadata"))
    annotations = fields(meta.get("annotations"))
    if REFRESH not in annotations:
        return app
    removed = (REFRESH, f"{REFRESH}-timestamp")
    remaining: Object = {key: value for key, value in annotations.items() if key not in removed}
    other_meta: Object = {key: value for key, value in meta.items() if key != "annotations"}
    return {**app, "metadata": {**other_meta, "annotations": remaining} if remaining else other_meta}


def with_finalizers(app: Object, *, pre: bool, post: bool) -> Object:
    """The Application with the finalizers of its PreDelete and PostDelete hooks."""
    meta = fields(app.get("metadata"))
    after: list[Json] = [*with_hook_finalizers(app, pre_delete=pre, post_delete=post)]
    if after == items(meta.get("finalizers")):
        return app
    other_meta: Object = {key: value for key, value in meta.items() if key != "finalizers"}
    return {**app, "metadata": {**other_meta, "finalizers": after} if after else other_meta}


def summary_of(tree: Iterable[Object]) -> Object:
    """`status.summary`: the images of the app and its external URLs.

    Mirrors `ApplicationTree.GetSummary` with `populatePodInfo`, `populateServiceInfo` and
    `populateIngressInfo`, Argo CD 3.6; differs: only addresses that Ingresses and load balancers report.
    """
    images: set[str] = set()
    addresses: set[str] = set()
    for obj in tree:
        kind = obj.get("kind")
        if kind == "Pod":
            images.update(_images(obj))
        elif kind == "Ingress":
            addresses.update(_addresses(obj))
    summary: Object = {}
    if addresses:
        urls: list[Json] = [*sorted(addresses)]
        summary["externalURLs"] = urls
    if images:
        names: list[Json] = [*sorted(images)]
        summary["images"] = names
    return summary


def _images(pod: Object) -> Iterator[str]:
    for name in ("initContainers", "containers"):
        for container in items(dig(pod, "spec", name)):
            image = text(fields(container).get("image"))
            if image:
                yield image


def _addresses(ingress: Object) -> Iterator[str]:
    """The URLs of an Ingress; none until its load balancer has an address."""
    load_balancers = [fields(entry) for entry in items(dig(ingress, "status", "loadBalancer", "ingress"))]
    fallback = [text(entry.get("hostname")) or text(entry.get("ip")) for entry in load_balancers]
    if not load_balancers:
        return
    secured = {
        text(host) for tl in items(dig(ingress, "spec", "tls")) for host in items(fields(tl).get("hosts"))
    }
    for rule in items(dig(ingress, "spec", "rules")):
        host = text(fields(rule).get("host"))
        for path in items(dig(fields(rule), "http", "paths")):
            url_path = text(fields(path).get("path")).removesuffix("*")
            for name in [host] if host else [address for address in fallback if address]:
                scheme = "https" if host and host in secured else "http"
                yield f"{scheme}://{name}{url_path}"
