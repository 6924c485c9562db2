"""The resources of a comparison with their sync status, and the resulting sync status of the app.

Mirrors the loop of `CompareAppState`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from whysync.argocd.api.application import Condition, SyncCode
from whysync.argocd.compare.comparison import ComparedResource, Inputs
from whysync.argocd.compare.deletion_confirmation import requires_confirmation
from whysync.argocd.compare.managed_namespace import is_managed_namespace
from whysync.argocd.compare.reconcile_pairs import Pair, Pairing
from whysync.argocd.compare.state_diffs import Diffs, PairDiff
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.hooks import (
    COMPARE_OPTIONS,
    HELM_HOOK,
    HOOK,
    SYNC_OPTIONS,
    SYNC_WAVE,
    has_option,
    is_any_hook,
    is_ignored,
    is_skipped,
    wave_of,
)
from whysync.argocd.hooks.annotations import HELM_HOOK_WEIGHT
from whysync.argocd.projects import kind_verdict
from whysync.argocd.tracking import is_self_referenced
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Ref, ref_of


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    resources: tuple[ComparedResource, ...]
    sync: SyncCode
    """Synced or OutOfSync, from the rows only."""
    conditions: tuple[Condition, ...]


class Row(NamedTuple):
    resource: ComparedResource
    drifts_app: bool
    problem: Condition | None


class RowBuilder:
    """`failed`: something could not be loaded or compared, so each resource has the status Unknown."""

    def __init__(self, inputs: Inputs, hooks: Sequence[Object], *, compared: bool, failed: bool) -> None:
        self._inputs = inputs
        self._hooks = hooks
        self._compared = compared
        self._failed = failed
        self._options = inputs.app.spec.sync_policy.sync_options
        self._app_requires_confirmation = requires_confirmation({}, self._options)
        self._permissions: dict[tuple[str, str, str, bool], bool] = {}

    def row(self, pair: Pair, diff_pair: PairDiff, health: HealthVerdict | None) -> Row:
        inputs, settings = self._inputs, self._inputs.settings
        target, live, ref = pair.target, pair.live, ref_of(pair.obj)
        own = is_self_referenced(
            live,
            target,
            app=inputs.app.name,
            method=settings.tracking_method,
            installation_id=settings.installation_id,
        )
        namespaced = inputs.scopes.is_namespaced(ref.group, ref.kind)
        # A kind that the cluster does not serve counts as cluster-scoped here.
        permitted = self._is_permitted(ref, namespaced=namespaced is True)
        problem = None
        if namespaced and not ref.namespace:
            message = f"Namespace for {ref.name} {ref.group}/{ref.version}, Kind={ref.kind} is missing."
            problem = Condition(type="InvalidSpecError", message=message)
        plain = is_plain(target) and is_plain(live)
        status = row_status(
            pair,
            is_plain=plain,
            modified=self._compared and diff_pair.diff is not None and diff_pair.diff.modified,
            is_own=own,
            may_be_absent=live is None and is_managed_namespace(pair.obj, inputs.app),
        )
        # `status.drifts_app` applies even if the status of the row is Unknown.
        sync = SyncCode.UNKNOWN if self._failed or not permitted else status.sync
        hook = not plain and is_any_hook(pair.obj)
        resource = ComparedResource(
            ref=ref,
            target=target,
            live=live,
            diff=diff_pair.diff,
            strategy=diff_pair.strategy,
            sync=sync,
            health=health,
            hook=hook,
            requires_pruning=target is None and own,
            requires_deletion_confirmation=self._requires_confirmation(pair, plain=plain),
            sync_wave=0 if plain else self._wave(pair, ref, hook=hook),
            is_own=own,
            error=diff_pair.error,
        )
        return Row(resource, drifts_app=status.drifts_app, problem=problem)

    def _requires_confirmation(self, pair: Pair, *, plain: bool) -> bool:
        if plain:
            return self._app_requires_confirmation
        return any(requires_confirmation(body, self._options) for body in (pair.target, pair.live))

    def _wave(self, pair: Pair, ref: Ref, *, hook: bool) -> int:
        if pair.target is not None:
            return wave_of(pair.target)
        return self._wave_in_git(ref) if hook else 0

    def _is_permitted(self, ref: Ref, *, namespaced: bool) -> bool:
        project = self._inputs.project
        if project is None:
            return True
        # Names only matter for cluster-scoped kinds.
        key = ref.group, ref.kind, "" if namespaced else ref.name, namespaced
        permitted = self._permissions.get(key)
        if permitted is None:
            verdict = kind_verdict(project, ref.group, ref.kind, ref.name, namespaced=namespaced)
            permitted = self._permissions[key] = verdict.permitted
        return permitted

    def _wave_in_git(self, ref: Ref) -> int:
        """The wave of a live hook, from its manifest in Git."""
        for hook in self._hooks:
            hook_ref = ref_of(hook)
            if (hook_ref.name, hook_ref.kind, hook_ref.namespace) == (ref.name, ref.kind, ref.namespace):
                return wave_of(hook)
        return 0


def rows_of(
    pairing: Pairing, diffs: Diffs, health: Sequence[HealthVerdict | None], inputs: Inputs, *, failed: bool
) -> Rows:
    builder = RowBuilder(inputs, pairing.hooks, compared=not diffs.error, failed=failed)
    if inputs.memory is None or failed or diffs.error:
        rows = list(map(builder.row, pairing.pairs, diffs.results, health))
    else:
        row_memo = inputs.memory.memo(Row)
        rows = [
            row_memo.recall(
                lambda row_inputs=row_inputs: builder.row(*row_inputs),
                row_inputs[0].target,
                row_inputs[0].live,
                *row_inputs[1:],
            )
            for row_inputs in zip(pairing.pairs, diffs.results, health, strict=True)
        ]
    return Rows(
        resources=tuple(row.resource for row in rows),
        sync=SyncCode.OUT_OF_SYNC if any(row.drifts_app for row in rows) else SyncCode.SYNCED,
        conditions=tuple(row.problem for row in rows if row.problem is not None),
    )


_RELEVANT_ANNOTATIONS = frozenset(
    {HOOK, HELM_HOOK, HELM_HOOK_WEIGHT, SYNC_OPTIONS, SYNC_WAVE, COMPARE_OPTIONS}
)


def is_plain(obj: Object | None) -> bool:
    """Has the object no annotation that affects its row? A fast path, because most objects have none."""
    if obj is None:
        return True
    return _RELEVANT_ANNOTATIONS.isdisjoint(fields(fields(obj.get("metadata")).get("annotations")))


class RowStatus(NamedTuple):
    sync: SyncCode | None
    """`None` for a hook, or an object that is not the app's own."""
    drifts_app: bool


def row_status(
    pair: Pair, *, modified: bool, is_own: bool, may_be_absent: bool, is_plain: bool = False
) -> RowStatus:
    """`may_be_absent`: it is a managed Namespace that does not exist yet."""
    differs = modified or pair.target is None or pair.live is None
    if is_plain and is_own and not may_be_absent:
        return RowStatus(SyncCode.OUT_OF_SYNC if differs else SyncCode.SYNCED, drifts_app=differs)
    if is_any_hook(pair.obj) or is_ignored(pair.obj) or not is_own:
        return RowStatus(None, drifts_app=False)
    if pair.target is not None and is_skipped(pair.target):
        return RowStatus(None, drifts_app=False)
    if not differs or may_be_absent:
        return RowStatus(SyncCode.SYNCED, drifts_app=False)
    # With IgnoreExtraneous, the row is still OutOfSync.
    tolerated = pair.target is None and has_option(pair.obj, COMPARE_OPTIONS, "IgnoreExtraneous")
    return RowStatus(SyncCode.OUT_OF_SYNC, drifts_app=not tolerated)
