"""One pass of the controller over a sync operation: the checks before the step, the step, the history.

Mirrors `SyncAppState`, Argo CD 3.6; the first check that fails ends the pass. A sync that a sync window
blocks stays Running without an end, and is not terminated before the window opens. Every pass compares again,
at the revision that the first pass resolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from whysync.argocd.api.application import Application, Condition, OperationState, Phase
from whysync.argocd.compare.app_normalizer import Normalization
from whysync.argocd.compare.app_status import go_time
from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.compare.state_diffs import normalization_of
from whysync.argocd.diff.normalize import normalize
from whysync.argocd.diff.remarshal import scheme_type
from whysync.argocd.ignore_differences import BadRule
from whysync.argocd.projects import (
    Cluster,
    NoCluster,
    NoServiceAccount,
    destination_cluster,
    service_account_for,
)
from whysync.argocd.sync import messages
from whysync.argocd.sync.app_request import AppSync, NotCompared, SyncPass, SyncTarget, request_for
from whysync.argocd.sync.cluster_ops import ClusterOps, Refused
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.request import Request
from whysync.argocd.sync.results import (
    COMPLETED,
    Result,
    State,
    augment_sync_msg,
    result_json,
    results_from_json,
)
from whysync.argocd.sync.step import step, terminate
from whysync.argocd.sync_windows.windows import can_sync, matching
from whysync.argocd.tracking import MalformedMetadata
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.merge.merge_patch import merge_patch
from whysync.kubernetes.merge.strategic import BadPatch, apply_patch, three_way_patch

_STOPPING: Final = ("ComparisonError", "InvalidSpecError")
_OVERRIDES: Final = ("resource.customizations", "resource.compareoptions")


def sync_app(sync: AppSync, operation_state: Object) -> SyncPass:
    """`operation_state` is raw, because decoded sources would lose fields."""
    if text(operation_state.get("phase")) in COMPLETED:
        return SyncPass(operation_state=operation_state)
    return _SyncAppState(sync, operation_state).run()


class _Stop(Exception):
    """The pass ends here."""


class _SyncAppState:
    def __init__(self, sync: AppSync, operation_state: Object) -> None:
        self.sync = sync
        self.state = dict(operation_state)
        self.operation = fields(dig(operation_state, "operation", "sync"))
        self.app = decode(sync.application, Application)[0] or Application()
        typed = decode(operation_state, OperationState)[0]
        self.started_at = (typed.started_at if typed else None) or datetime(1970, 1, 1, tzinfo=UTC)
        self.options = SyncOptions.of(self.operation, sync.application)
        self.comparison: Comparison | None = None

    def run(self) -> SyncPass:
        history = None
        try:
            self.stop_without_operation()
            self.begin_result()
            self.stop_in_window()
            comparison = self.comparison = self.compare()
            self.stop_on_conditions(comparison)
            cluster = self.cluster()
            self.stop_without_overrides()
            pairs = self.pairs(comparison)
            cluster_ops = self.sync.cluster_ops(self.user(cluster))
            request = request_for(
                self.sync,
                comparison,
                pairs,
                cluster=cluster,
                operation=self.operation,
                revision=text(self.result.get("revision")),
                started_at=self.started_at,
            )
            self.step(request, cluster_ops)
            if self.is_recorded:
                history = history_after(self.sync.application, self.state, self.sync.now)
        except _Stop:
            pass
        return SyncPass(operation_state=self.state, history=history, comparison=self.comparison)

    @property
    def phase(self) -> str:
        return text(self.state.get("phase"))

    @property
    def is_recorded(self) -> bool:
        """Is the sync recorded in the history? A dry run or a selective sync is not."""
        return not self.options.dry_run and not self.selected and self.phase == Phase.SUCCEEDED

    @property
    def selected(self) -> list[Json]:
        return items(self.operation.get("resources"))

    def end(self, phase: Phase, message: str) -> _Stop:
        self.state |= {"phase": phase.value, "message": message}
        return _Stop()

    def stop_without_operation(self) -> None:
        if not isinstance(dig(self.state, "operation", "sync"), dict):
            raise self.end(Phase.ERROR, messages.NO_OPERATION)

    def begin_result(self) -> None:
        """Uses the sources of the operation, as for a rollback, or else those of the Application."""
        if isinstance(self.state.get("syncResult"), dict):
            return
        spec = fields(self.sync.application.get("spec"))
        operation_sources = self.operation.get("source"), self.operation.get("sources")
        source, sources = (
            operation_sources if any(operation_sources) else (spec.get("source"), spec.get("sources"))
        )
        result: Object = {"revision": text(self.operation.get("revision"))}
        result["source"] = source if isinstance(source, dict) else {"repoURL": ""}
        if items(sources):
            result["sources"] = sources
        if items(self.operation.get("revisions")):
            result["revisions"] = self.operation["revisions"]
        self.state["syncResult"] = result

    @property
    def result(self) -> Object:
        return fields(self.state.get("syncResult"))

    def stop_in_window(self) -> None:
        """The initiator is read from the Application's status, which does not have it in the first pass."""
        windows = matching(self.sync.project.spec.sync_windows, self.app)
        before = self.app.status.operation_state
        verdict = can_sync(
            windows,
            self.sync.now,
            manual=before is not None and not before.operation.initiated_by.automated,
            started_at=before.started_at if before is not None else None,
        )
        if verdict.allowed:
            return
        if self.phase == Phase.RUNNING:
            self.state["message"] = messages.blocked_by_window(verdict.error)
        raise _Stop

    def compare(self) -> Comparison:
        """Compares, and records the resolved revisions for the rest of the operation."""
        sources = items(self.result.get("sources"))
        revisions = items(self.result.get("revisions")) if sources else [self.result.get("revision")]
        target = SyncTarget(
            sources=tuple(fields(source) for source in sources or [self.result.get("source")]),
            revisions=tuple(text(revision) for revision in revisions),
            manifests=tuple(text(manifest) for manifest in items(self.operation.get("manifests"))),
        )
        try:
            comparison = self.sync.compare(target)
        except NotCompared as problem:
            raise self.end(Phase.ERROR, str(problem)) from problem
        sync_status = fields(comparison.status.get("sync"))
        self.state["syncResult"] = {**self.result, "revision": text(sync_status.get("revision"))}
        if items(sync_status.get("revisions")):
            self.result["revisions"] = sync_status["revisions"]
        return comparison

    def stop_on_conditions(self, comparison: Comparison) -> None:
        decoded = [
            decode(fields(condition), Condition)[0]
            for condition in items(comparison.status.get("conditions"))
        ]
        conditions = [condition for condition in decoded if condition is not None]
        shared = next(
            (condition for condition in conditions if condition.type == "SharedResourceWarning"), None
        )
        if shared is not None and self.options.fail_on_shared:
            raise self.end(Phase.FAILED, f"Shared resource found: {shared.message}")
        stopping = [
            (condition.type, condition.message) for condition in conditions if condition.type in _STOPPING
        ]
        if stopping:
            raise self.end(Phase.ERROR, messages.conditions(stopping))

    def cluster(self) -> Cluster:
        try:
            return destination_cluster(self.app.spec.destination, self.sync.clusters)
        except NoCluster as problem:
            raise self.end(Phase.ERROR, f"Failed to get destination cluster: {problem}") from problem

    def stop_without_overrides(self) -> None:
        problem = self.sync.settings.comparison_problem
        if problem is not None and problem.key.startswith(_OVERRIDES):
            raise self.end(Phase.ERROR, f"Failed to load resource overrides: {problem.message}")

    def pairs(self, comparison: Comparison) -> tuple[Pair, ...]:
        if not self.options.respect_ignored:
            return tuple(Pair(row.target, row.live) for row in comparison.resources)
        try:
            return normalize_target_resources(comparison)
        except BadTargets as problem:
            raise self.end(Phase.ERROR, f"Failed to normalize target resources: {problem}") from problem

    def user(self, cluster: Cluster) -> str:
        """The user that the sync impersonates; empty means Argo CD itself."""
        settings, namespace = self.sync.settings, self.app.spec.destination.namespace
        if not settings.impersonation_enabled:
            return ""
        try:
            user = service_account_for(
                self.sync.project,
                app_namespace=self.app.namespace,
                destination_namespace=namespace,
                cluster=cluster,
            )
        except NoServiceAccount as problem:
            raise self.end(
                Phase.ERROR, f"failed to derive service account to impersonate: {problem}"
            ) from problem
        if not user and settings.impersonation_enforced:
            destination = f"destination server {cluster.server} and namespace {namespace}"
            raise self.end(Phase.ERROR, f"no matching service account found for {destination}")
        return user

    def step(self, request: Request, cluster_ops: ClusterOps) -> None:
        rows = [fields(row) for row in items(self.result.get("resources"))]
        before = State(
            phase=self.phase, message=text(self.state.get("message")), results=results_from_json(rows)
        )
        act = terminate if self.phase == Phase.TERMINATING else step
        after = act(before, request, cluster_ops)
        result: Object = {key: value for key, value in self.result.items() if key != "resources"}
        metadata = dig(self.sync.application, "spec", "syncPolicy", "managedNamespaceMetadata")
        if isinstance(metadata, dict):
            result["managedNamespaceMetadata"] = metadata
        if after.results:
            result["resources"] = [_augmented_json(result, cluster_ops) for result in after.results]
        self.state |= {"phase": after.phase, "message": after.message, "syncResult": result}


def _augmented_json(result: Result, cluster_ops: ClusterOps) -> Json:
    """The result as JSON, with an augmented message; the operation's message keeps the original text."""
    row, message = result_json(result), result.message
    augmented = augment_sync_msg(message, result.ref, ())
    if augmented != message:
        try:
            row["message"] = augment_sync_msg(message, result.ref, cluster_ops.kinds())
        except Refused:
            row["message"] = augmented if message in augmented else message
    return row


def history_after(application: Object, state: Object, now: datetime) -> list[Json]:
    """`status.history` with this operation; `state` is its `operationState`.

    Mirrors `persistRevisionHistory`, Argo CD 3.6; raw, because a source has fields that nothing here reads.
    """
    before = items(dig(application, "status", "history"))
    last = integer(fields(before[-1]).get("id")) if before else -1
    result = fields(state.get("syncResult"))
    entry: Object = {"deployedAt": go_time(now), "id": last + 1}
    if state.get("startedAt"):
        entry["deployStartedAt"] = state["startedAt"]
    if items(result.get("sources")):
        entry["sources"] = result["sources"]
        entry["revisions"] = result.get("revisions")
    else:
        entry["source"] = result.get("source")
        entry["revision"] = result.get("revision")
    initiator = dig(state, "operation", "initiatedBy")
    entry["initiatedBy"] = initiator if isinstance(initiator, dict) else {}
    limit = dig(application, "spec", "revisionHistoryLimit")
    return list(kept_history([*before, entry], limit if isinstance(limit, int) else None))


T = TypeVar("T")

DEFAULT_LIMIT = 10


def kept_history(entries: Sequence[T], limit: int | None = None) -> tuple[T, ...]:
    """The last `limit` entries; `limit` is `spec.revisionHistoryLimit`."""
    max_entries = DEFAULT_LIMIT if limit is None else max(limit, 0)
    return tuple(entries[len(entries) - max_entries :]) if len(entries) > max_entries else tuple(entries)


# `RespectIgnoreDifferences=true`: ignored fields keep their live value when a sync applies the rest.
#
# Mirrors `normalizeTargetResources`, Argo CD 3.6: the live object is normalized, the patch from the
# normalized to the live object is applied to the normalized target, and its changes to other fields are
# reverted. `status` is never copied. An ignored field that the live object lacks is not applied; a list of
# a custom resource is copied as a whole.


class BadTargets(Exception):
    """The targets cannot be merged with the live objects."""


def normalize_target_resources(comparison: Comparison) -> tuple[Pair, ...]:
    """The pairs to apply. Raises `BadTargets`."""
    try:
        return tuple(_pairs(comparison, normalization_of(comparison.inputs)))
    except (BadRule, BadPatch, MalformedMetadata) as problem:
        raise BadTargets(str(problem)) from problem


def _pairs(comparison: Comparison, normalization: Normalization) -> Iterator[Pair]:
    for row in comparison.resources:
        yield _pair(row, comparison, normalization)


def _pair(row: ComparedResource, comparison: Comparison, normalization: Normalization) -> Pair:
    if row.target is None or row.live is None:
        return Pair(row.target, row.live)
    aggregated = comparison.inputs.settings.compare_options.ignore_aggregated_roles
    target, live = normalization.pre_diff_normalize(row.target, row.live)
    normalized = normalize_target(
        row.target,
        row.live,
        normalized_target=normalize(target, ignore_aggregated_roles=aggregated, normalizer=normalization),
        normalized_live=normalize(live, ignore_aggregated_roles=aggregated, normalizer=normalization),
    )
    return Pair(normalized, row.live)


def normalize_target(
    target: Object, live: Object | None, *, normalized_target: Object, normalized_live: Object
) -> Object:
    """The object to apply; without a live object the unchanged target. Raises `BadPatch`."""
    if live is None:
        return target
    live_spec = _without_status(live)
    normalized_spec = _without_status(normalized_live)
    schema = scheme_type(normalized_target)
    if schema is None:
        patched = merge_patch(normalized_target, _merge_patch_between(normalized_spec, live_spec))
    else:
        patched = apply_patch(
            normalized_target, three_way_patch(live_spec, live_spec, normalized_spec, schema), schema
        )
    return _restored(patched, target, normalized_target, normalized_live)


def _restored(patched: Object, target: Object, normalized_target: Object, normalized_live: Object) -> Object:
    """Reverts changes to fields that are not ignored, which the patch made by replacing a parent."""
    restored: Object = {
        key: value for key, value in patched.items() if key in target or key not in normalized_live
    }
    for key, target_value in target.items():
        patched_value, normalized = patched.get(key), normalized_target.get(key)
        if (
            isinstance(patched_value, dict)
            and isinstance(target_value, dict)
            and isinstance(normalized, dict)
        ):
            restored[key] = _restored(
                patched_value, target_value, normalized, fields(normalized_live.get(key))
            )
        elif key in normalized_target and normalized == target_value:
            # the normalizer did not change it, so it is not ignored and Git's value applies
            restored[key] = target_value
    return restored


def _merge_patch_between(original: Object, modified: Object) -> Object:
    """Mirrors `CreateMergePatch` (RFC 7386): null removes, lists are replaced."""
    patch: Object = {key: None for key in original if key not in modified}
    for key, new in modified.items():
        old: Json = original.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            nested = _merge_patch_between(old, new)
            if nested:
                patch[key] = nested
        elif key not in original or old != new:
            patch[key] = new
    return patch


def _without_status(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key != "status"}
