"""Diffs of all pairs of one Application. Mirrors `StateDiffs`, Argo CD 3.6.

A pair that cannot be compared fails the comparison of the Application; differs: the other pairs are still
compared, for reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from whysync.argocd.compare.app_normalizer import Normalization
from whysync.argocd.compare.comparison import Inputs
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.diff.diff import diff
from whysync.argocd.diff.options import DiffOptions, Strategy, ignores_mutation_webhooks, strategy_for
from whysync.argocd.diff.result import DiffResult
from whysync.argocd.hooks import SYNC_OPTIONS, has_option
from whysync.argocd.ignore_differences import BadRule, Normalizer
from whysync.argocd.tracking import MalformedMetadata
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.merge.errors import DiffError

_NO_DRY_RUN = (
    "server-side diff asks the API server, and its answers are not among the facts:"
    " compared by structured merge instead"
)


class PairDiff(msgspec.Struct, frozen=True, kw_only=True):
    diff: DiffResult | None
    strategy: Strategy
    error: str = ""


class Diffs(msgspec.Struct, frozen=True, kw_only=True):
    results: tuple[PairDiff, ...]
    strategy: Strategy
    rules: Normalizer | None
    error: str = ""
    """Argo CD's message for the first pair that failed; empty if all were compared."""
    notes: tuple[str, ...] = ()


def diffs_of(pairs: Sequence[Pair], inputs: Inputs) -> Diffs:
    strategy = app_strategy(inputs)
    memory = inputs.memory
    try:
        differ = (
            StateDiffer.of(inputs)
            if memory is None
            else memory.memo(StateDiffer).recall(lambda: StateDiffer.of(inputs), StateDiffer)
        )
    except BadRule as problem:
        results = tuple(PairDiff(diff=None, strategy=strategy) for _ in pairs)
        error = f"failed to create diff normalizer: {problem}"
        return Diffs(results=results, strategy=strategy, rules=None, error=error)
    if memory is None:
        results = tuple(differ.diff_pair(pair.target, pair.live) for pair in pairs)
    else:
        pair_memo = memory.memo(PairDiff)
        results = tuple(
            pair_memo.recall(
                lambda pair=pair: differ.diff_pair(pair.target, pair.live), pair.target, pair.live
            )
            for pair in pairs
        )
    failed = next((result.error for result in results if result.error), "")
    return Diffs(
        results=results,
        strategy=strategy,
        rules=differ.rules,
        error=f"failed to calculate diff: {failed}" if failed else "",
        notes=(_NO_DRY_RUN,) if strategy is Strategy.SERVER_SIDE and inputs.dry_run is None else (),
    )


def app_strategy(inputs: Inputs) -> Strategy:
    return strategy_for(
        fields(dig(inputs.application, "metadata", "annotations")),
        inputs.app.spec.sync_policy.sync_options,
        server_side_diff=inputs.settings.server_side_diff,
    )


def normalization_of(inputs: Inputs) -> Normalization:
    """Raises `BadRule`."""
    return Normalization.build(
        inputs.app.spec.ignore_differences,
        inputs.settings.overrides,
        tracking_method=inputs.settings.tracking_method,
        label_key=inputs.settings.instance_label_key,
        schemas=inputs.schemas,
    )


class StateDiffer:
    """Compares pairs of one app, with shared options."""

    def __init__(self, inputs: Inputs, normalization: Normalization) -> None:
        self._normalization = normalization
        strategy = app_strategy(inputs)
        if strategy is Strategy.SERVER_SIDE and inputs.dry_run is None:
            strategy = Strategy.STRUCTURED_MERGE
        annotations = fields(dig(inputs.application, "metadata", "annotations"))
        self._options = DiffOptions(
            strategy=strategy,
            normalizer=normalization,
            ignore_aggregated_roles=inputs.settings.compare_options.ignore_aggregated_roles,
            schemas=inputs.schemas,
            dry_run=inputs.dry_run,
            ignore_mutation_webhook=ignores_mutation_webhooks(annotations),
        )
        self._structured_merge_options = replace(self._options, strategy=Strategy.STRUCTURED_MERGE)

    @classmethod
    def of(cls, inputs: Inputs) -> StateDiffer:
        """Raises `BadRule`."""
        return cls(inputs, normalization_of(inputs))

    @property
    def rules(self) -> Normalizer:
        return self._normalization.rules

    def diff_pair(self, target: Object | None, live: Object | None) -> PairDiff:
        options = self._options
        if target is not None and live is not None:
            with suppress(MalformedMetadata):  # upstream ignores this error
                target, live = self._normalization.pre_diff_normalize(target, live)
            # A resource with the option ServerSideApply=true is compared by structured merge.
            if options.strategy is Strategy.LEGACY and has_option(
                target, SYNC_OPTIONS, "ServerSideApply=true"
            ):
                options = self._structured_merge_options
        try:
            return PairDiff(diff=diff(target, live, options), strategy=options.strategy)
        except DiffError as problem:
            return PairDiff(diff=None, strategy=options.strategy, error=str(problem))
