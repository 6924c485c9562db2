"""One look at one Application: is a refresh due, how deep, and what comes of it.

Mirrors `processAppRefreshQueueItem`, Argo CD 3.6: project and spec are checked, then the app is compared,
then auto-sync decides, then the status is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from whysync.argocd.api.application import Application, Condition
from whysync.argocd.app_controller.app_registry import AppRegistry
from whysync.argocd.app_controller.auto_sync import AutoSync, AutoSyncReason, auto_sync
from whysync.argocd.app_controller.compare_app import Aim, Compared, Setting, aim_at_spec, compared
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
from whysync.argocd.app_controller.queue_state import QueueState
from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.compare.app_status import conditions_json, go_time, set_conditions
from whysync.argocd.compare.compare_app_state import NotComparedYet
from whysync.argocd.compare.diff_memory import Memory
from whysync.argocd.compare.orphans import orphan_warning, orphans
from whysync.argocd.projects import NoCluster
from whysync.argocd.sync_windows.windows import can_sync, matching
from whysync.argocd.tracking import instance_name
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode

_A_MOMENT: Final = timedelta(microseconds=1)
"""Upstream asks whether more time than the timeout has passed; here it is looked at right then."""
_SYNC_ERROR: Final = "SyncError"
_ORPHANS: Final = "OrphanedResourceWarning"


class Refresher:
    def __init__(self, context: ControllerContext, registry: AppRegistry) -> None:
        self._context = context
        self._registry = registry
        self._summaries: dict[str, tuple[int, Object]] = {}

    def look(self, name: str) -> bool:
        """True where the Application was changed by it."""
        app, record = self._registry.applications[name], self._registry.records[name]
        record.queued = False
        context, now = self._context, self._context.clock.now
        if not context.looks_after(app):
            return False
        need = need_refresh(
            app,
            now,
            soft=_shortened(context.soft),
            hard=_shortened(context.hard),
            requested=() if record.level is None else (record.level,),
        )
        if need.reason is RefreshReason.CONTROLLER:
            record.level = None
        changed = need.reason is not None and self._refresh(name, app, record, need)
        self._look_again(name, record)
        return changed

    def _look_again(self, name: str, record: QueueState) -> None:
        context, now = self._context, self._context.clock.now
        reconciled = _time(dig(self._registry.applications[name], "status", "reconciledAt"))
        dues: list[datetime] = []
        for timeout in (context.soft, context.hard):
            if timeout > timedelta():
                due = reconciled + timeout if reconciled is not None else now
                dues.append(due if due > now else now + timeout)
        record.look_at = min(dues, default=None)

    def _refresh(self, name: str, app: Object, record: QueueState, need: Refresh) -> bool:
        typed = decode(app, Application)[0] or Application()
        cache = self._context.cache_of(typed)
        if need.level is CompareWith.ComparisonWithNothing and cache is not None and record.compared:
            return self._persist(name, app, {**fields(app.get("status")), **self._summary(typed, cache)})
        now = self._context.clock.now
        self._registry.say(name, TraceKind.REFRESHED, _refresh_text(need))
        if need.reason is RefreshReason.REQUESTED:
            record.rules = ()  # what the API server answered to a dry run may be different by now
        checked = spec_conditions(
            typed,
            self._context.typed_projects(),
            self._context.clusters,
            now,
            controller_namespace=self._context.namespace,
        )
        status = {**fields(app.get("status")), **conditions_json(checked.conditions)}
        if not checked.conditions:
            status.pop("conditions", None)
        if checked.has_errors:
            return self._persist(name, app, unknown(status, now))
        recent = need.level is CompareWith.CompareWithRecent
        forced = need.level is CompareWith.CompareWithLatestForceResolve
        with_conditions: Object = {**app, "status": status}
        aim = aim_at_spec(with_conditions, recent=recent, hard=need.hard, fresh=forced)
        try:
            compared = self.compare(name, with_conditions, aim, forced=forced)
        except (NotComparedYet, NoCluster):
            return False
        record.compared = True
        record.targets = compared.comparison.inputs.targets
        return self._conclude(name, app, typed, compared, need)

    # --- comparing -------------------------------------------------------------------------------

    def compare(self, name: str, app: Object, aim: Aim, *, forced: bool) -> Compared:
        """Raises `NotComparedYet` while an error of the repository is kept back, and `NoCluster`."""
        context, record = self._context, self._registry.records[name]
        typed = decode(app, Application)[0] or Application()
        project = context.typed_projects()[typed.project]
        cluster = context.cluster_of(typed)
        cache = context.caches[cluster.server]
        setting = Setting(
            settings=context.settings,
            project=project,
            cluster=cluster,
            project_clusters=context.clusters_of(typed.project),
            live=cache,
            repo_server=context.repo_server,
            namespace=context.namespace,
            now=context.clock.now,
            dry_run=context.dry_run(cluster.server),
            memory=_memory(record, app, context.settings, project, cache, cache.schemas, cache.scopes),
        )
        try:
            comparison = compared(
                app, typed, aim, setting, error_since=record.repo_error_since, forced=forced
            )
        except NotComparedYet:
            record.repo_error_since = record.repo_error_since or context.clock.now
            raise
        if comparison.comparison.inputs.target_error is None:
            record.repo_error_since = None
        return comparison

    # --- what comes of it ------------------------------------------------------------------------

    def _conclude(
        self, name: str, app: Object, typed: Application, compared: Compared, need: Refresh
    ) -> bool:
        context, record, now = self._context, self._registry.records[name], self._context.clock.now
        comparison = compared.comparison
        status = dict(comparison.status)
        before = fields(app.get("status"))
        if need.level < CompareWith.CompareWithLatest and before.get("reconciledAt"):
            status["reconciledAt"] = before["reconciledAt"]
        status |= source_types(comparison.inputs.spec, compared.source_types)
        status["controllerNamespace"] = context.namespace
        cache = context.cache_of(typed)
        if cache is not None:
            status |= self._summary(typed, cache)
            status = self._orphans(typed, cache, compared, status)
        decided = self._decide(name, app, typed, status, compared)
        if decided.reason is not AutoSyncReason.WINDOW:
            status = with_condition(status, _SYNC_ERROR, decided.condition, now)
        after: Object = {**app, "status": status}
        if decided.operation is not None:
            # A new operation wipes what was known of the last one.
            after["operation"] = decided.operation
            status.pop("operationState", None)
        if decided.retry_in is not None:
            record.ask_later(CompareWith.CompareWithLatest, now + decided.retry_in)
        after = with_finalizers(
            after, pre=comparison.has_pre_delete_hooks, post=comparison.has_post_delete_hooks
        )
        return self._registry.save(name, without_refresh(after))

    def _decide(
        self, name: str, app: Object, typed: Application, status: Object, compared: Compared
    ) -> AutoSync:
        context, record = self._context, self._registry.records[name]
        project = context.typed_projects()[typed.project]
        windows = can_sync(matching(project.spec.sync_windows, typed), context.clock.now, manual=False)
        rows = [fields(row) for row in items(status.get("resources"))]
        decided = auto_sync(
            app,
            context.clock.now,
            sync_status=fields(status.get("sync")),
            resources=rows,
            revisions_have_changes=compared.has_changes,
            backoff=context.timings.self_heal,
            windows=windows,
        )
        reason = str(decided.reason)
        if reason != record.decided or decided.starts:
            if decided.reason not in (AutoSyncReason.NOT_AUTOMATED, AutoSyncReason.DISABLED):
                self._registry.say(name, TraceKind.AUTO_SYNC, _why(decided), status=reason)
            record.decided = reason
        return decided

    def _summary(self, typed: Application, cache: LiveCache) -> Object:
        instance = instance_name(typed.name, typed.namespace, self._context.namespace)
        known = self._summaries.get(instance)
        if known is None or known[0] != cache.seen:
            known = self._summaries[instance] = cache.seen, summary_of(cache.tree(instance))
        return {"summary": known[1]}

    def _orphans(self, typed: Application, cache: LiveCache, compared: Compared, status: Object) -> Object:
        """The warning about orphaned resources, if the project enables it."""
        project = self._context.typed_projects()[typed.project]
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


def _memory(record: QueueState, app: Object, *rules: object) -> Memory:
    """What was remembered, as long as all that it rests on is the same."""
    spec, meta = fields(app.get("spec")), fields(app.get("metadata"))
    policy = fields(spec.get("syncPolicy"))
    own = (
        spec.get("ignoreDifferences"),
        spec.get("destination"),
        policy.get("syncOptions"),
        policy.get("managedNamespaceMetadata"),
        fields(meta.get("annotations")).get("argocd.argoproj.io/compare-options"),
    )
    now = (*rules, own)
    same = len(record.rules) == len(now) and all(
        old_rule is other for old_rule, other in zip(record.rules[:-1], rules, strict=True)
    )
    if not record.rules or not same or record.rules[-1] != own:
        record.memory = Memory()
        record.rules = now
    return record.memory


def _refresh_text(need: Refresh) -> str:
    how = "hard " if need.hard else ""
    return f"{how}{need.reason} (level {int(need.level)})"


def _why(decided: AutoSync) -> str:
    if decided.condition:
        return f"{decided.reason}: {decided.condition}"
    if decided.retry_in is not None:
        return f"{decided.reason}: again in {decided.retry_in.total_seconds():g}s"
    return str(decided.reason)


def _shortened(timeout: timedelta) -> timedelta:
    return timeout - _A_MOMENT if timeout > timedelta() else timeout


def _time(value: object) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return parsed if parsed is not None and parsed.tzinfo is not None else None


def with_condition(status: Object, type: str, message: str, now: datetime) -> Object:
    """The status with the one condition of this type, or without any."""
    before = [decode(fields(condition), Condition)[0] for condition in items(status.get("conditions"))]
    incoming = [Condition(type=type, message=message)] if message else []
    after = set_conditions(
        [condition for condition in before if condition is not None], incoming, (type,), now
    )
    left: Object = {key: value for key, value in status.items() if key != "conditions"}
    return left | conditions_json(after)


def unknown(status: Object, now: datetime) -> Object:
    """What is written where project or spec are not as they must be; nothing was compared."""
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
    several: list[Json] = [*types]
    return {"sourceTypes": several} if items(spec.get("sources")) else {"sourceType": types[0]}


def without_refresh(app: Object) -> Object:
    """The refresh that was asked for is done."""
    meta = fields(app.get("metadata"))
    annotations = fields(meta.get("annotations"))
    if REFRESH not in annotations:
        return app
    gone = (REFRESH, f"{REFRESH}-timestamp")
    kept: Object = {key: value for key, value in annotations.items() if key not in gone}
    left: Object = {key: value for key, value in meta.items() if key != "annotations"}
    return {**app, "metadata": {**left, "annotations": kept} if kept else left}


def with_finalizers(app: Object, *, pre: bool, post: bool) -> Object:
    """Hooks that run at the deletion of the app hold it with finalizers, as long as Git has them."""
    meta = fields(app.get("metadata"))
    after: list[Json] = [*with_hook_finalizers(app, pre_delete=pre, post_delete=post)]
    if after == items(meta.get("finalizers")):
        return app
    left: Object = {key: value for key, value in meta.items() if key != "finalizers"}
    return {**app, "metadata": {**left, "finalizers": after} if after else left}


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
    """None before a load balancer has taken the Ingress."""
    given = [fields(entry) for entry in items(dig(ingress, "status", "loadBalancer", "ingress"))]
    fallback = [text(entry.get("hostname")) or text(entry.get("ip")) for entry in given]
    if not given:
        return
    secured = {
        text(host) for tl in items(dig(ingress, "spec", "tls")) for host in items(fields(tl).get("hosts"))
    }
    for rule in items(dig(ingress, "spec", "rules")):
        host = text(fields(rule).get("host"))
        for path in items(dig(fields(rule), "http", "paths")):
            where = text(fields(path).get("path")).removesuffix("*")
            for name in [host] if host else [address for address in fallback if address]:
                scheme = "https" if host and host in secured else "http"
                yield f"{scheme}://{name}{where}"
