"""`RespectIgnoreDifferences=true`: what is ignored keeps its live value when the rest is applied."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.normalization import Normalization
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.compare.state_diffs import normalization_of
from whysync.argocd.diff.normalize import normalize
from whysync.argocd.ignore_differences import BadRule, respectful_target
from whysync.argocd.tracking import MalformedMetadata
from whysync.kubernetes.merge.strategic import BadPatch


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
