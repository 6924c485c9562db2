"""Compare all pairs of one Application. Mirrors `StateDiffs`, Argo CD 3.6.

One pair that cannot be compared fails the Application; the others are compared all the same, so that a
report can name every one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from whysync.argocd.compare.comparison import Inputs
from whysync.argocd.compare.normalization import Normalization
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.diff.diff import diff
from whysync.argocd.diff.options import DiffOptions
from whysync.argocd.diff.result import DiffResult
from whysync.argocd.diff.strategy import Strategy, ignores_mutation_webhooks, strategy_for
from whysync.argocd.hooks import SYNC_OPTIONS, has_option
from whysync.argocd.ignore_differences import BadRule, Normalizer
from whysync.argocd.tracking import MalformedMetadata
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.merge.errors import DiffError

_NO_DRY_RUN = (
    "server-side diff asks the API server, and its answers are not among the facts:"
    " compared by structured merge instead"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diffed:
    diff: DiffResult | None
    strategy: Strategy
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diffs:
    results: tuple[Diffed, ...]
    strategy: Strategy
    rules: Normalizer | None
    error: str = ""
    """Of the first that failed, in Argo CD's words; empty: all were compared."""
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
        results = tuple(Diffed(diff=None, strategy=strategy) for _ in pairs)
        error = f"failed to create diff normalizer: {problem}"
        return Diffs(results=results, strategy=strategy, rules=None, error=error)
    if memory is None:
        results = tuple(differ.diffed(pair.target, pair.live) for pair in pairs)
    else:
        known = memory.memo(Diffed)
        results = tuple(
            known.recall(lambda pair=pair: differ.diffed(pair.target, pair.live), pair.target, pair.live)
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
    """Compares pair by pair, with what is the same for all of an app made ready once."""

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
        self._merging = replace(self._options, strategy=Strategy.STRUCTURED_MERGE)

    @classmethod
    def of(cls, inputs: Inputs) -> StateDiffer:
        """Raises `BadRule`."""
        return cls(inputs, normalization_of(inputs))

    @property
    def rules(self) -> Normalizer:
        return self._normalization.rules

    def diffed(self, target: Object | None, live: Object | None) -> Diffed:
        options = self._options
        if target is not None and live is not None:
            with suppress(MalformedMetadata):  # upstream does not look at this error
                target, live = self._normalization.pre_diff_normalize(target, live)
            # A resource can ask for server-side apply by itself, and is then compared that way.
            if options.strategy is Strategy.LEGACY and has_option(
                target, SYNC_OPTIONS, "ServerSideApply=true"
            ):
                options = self._merging
        try:
            return Diffed(diff=diff(target, live, options), strategy=options.strategy)
        except DiffError as problem:
            return Diffed(diff=None, strategy=options.strategy, error=str(problem))
