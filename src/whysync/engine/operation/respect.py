"""`RespectIgnoreDifferences=true`: what is ignored keeps its live value when the rest is applied."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.engine.comparison import ComparedResource, Comparison
from whysync.engine.diffs import normalization_of
from whysync.semantics.comparison.normalization import Normalization
from whysync.semantics.comparison.pairing import Pair
from whysync.semantics.diff import normalize
from whysync.semantics.diff.strategic import BadPatch
from whysync.semantics.ignore import BadRule, respectful_target
from whysync.semantics.tracking import MalformedMetadata


class BadTargets(Exception):
    """The targets cannot be laid over live."""


def respectful_pairs(comparison: Comparison) -> tuple[Pair, ...]:
    """Mirrors `normalizeTargetResources` for all pairs, Argo CD 3.6. Raises `BadTargets`."""
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
    target, live = normalization.before_diff(row.target, row.live)
    wanted = respectful_target(
        row.target,
        row.live,
        normalized_target=normalize(target, ignore_aggregated_roles=aggregated, normalizer=normalization),
        normalized_live=normalize(live, ignore_aggregated_roles=aggregated, normalizer=normalization),
    )
    return Pair(wanted, row.live)
