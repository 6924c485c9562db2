"""Compares a desired object with the live one. Mirrors gitops-engine `Diff`, Argo CD 3.6."""

from __future__ import annotations

from typing import Final

from whysync.argocd.diff.normalize import Normalizer, normalize
from whysync.argocd.diff.options import DiffOptions, prepared, prepared_and_fits
from whysync.argocd.diff.result import DiffResult, Sides
from whysync.argocd.diff.strategy import Strategy, asks_for_server_side_apply
from whysync.argocd.diff.subset import is_still_desired, is_within
from whysync.argocd.diff.three_way import Outcome, filled, three_way, two_way
from whysync.json_tree import Object, same
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.last_applied import last_applied

_USUAL: Final = DiffOptions()


def diff(desired: Object | None, live: Object | None, options: DiffOptions = _USUAL) -> DiffResult:
    """Compares two objects. Raises `DiffError` if Argo CD fails to compare them."""
    try:
        return _diff(desired, live, options)
    except RecursionError:
        raise DiffError("the object is nested too deeply to be compared") from None


def _diff(desired: Object | None, live: Object | None, options: DiffOptions) -> DiffResult:
    if desired is None or live is None:
        return _one_sided(desired, live, options)
    if options.strategy is Strategy.SERVER_SIDE:
        from whysync.argocd.diff.server_side import server_side_diff

        return server_side_diff(desired, live, options)
    if options.strategy is Strategy.STRUCTURED_MERGE or asks_for_server_side_apply(desired):
        from whysync.argocd.diff.structured import structured_merge_diff

        return structured_merge_diff(prepared(desired, options), prepared(live, options), options)
    applied = last_applied(live)
    if _is_plainly_equal(applied, desired, live, options.normalizer):
        way = "two-way" if applied is None else "three-way"
        return DiffResult(modified=False, way=way, look=lambda: _equal_sides(desired, live, options))
    return _legacy(applied, prepared_and_fits(desired, options), prepared_and_fits(live, options), options)


def _is_plainly_equal(
    applied: Object | None, desired: Object, live: Object, normalizer: Normalizer | None
) -> bool:
    if not is_still_desired(applied, desired):
        return False
    if normalizer is not None:
        try:
            desired, live = normalizer(desired), normalizer(live)
        except ValueError:
            return False  # the full comparison below reports the error
    return is_within(desired, live)


def _equal_sides(desired: Object, live: Object, options: DiffOptions) -> Sides:
    """Live, filled in; the long way is walked again where the prediction's kind matters."""
    outcome = two_way(prepared(desired, options), prepared(live, options))
    tree = filled(outcome.live, outcome.kind)
    return Sides(tree, tree, outcome.kind)


def _legacy(
    applied: Object | None,
    config: tuple[Object, bool],
    live_config: tuple[Object, bool],
    options: DiffOptions,
) -> DiffResult:
    (desired, desired_fits), (live, live_fits) = config, live_config
    way, outcome = "two-way", None
    if applied is not None:
        applied = normalize(
            applied,
            ignore_aggregated_roles=options.ignore_aggregated_roles,
            normalizer=options.normalizer,
        )
        outcome, way = _three_way(applied, desired, live), "three-way"
    if outcome is None:
        outcome, way = two_way(desired, live), "two-way"
    if outcome.predicted is outcome.live:
        equal = outcome
        return DiffResult(modified=False, way=way, look=lambda: _filled_once(equal))
    kind = outcome.kind
    sides = Sides(
        filled(outcome.live, kind, fits=live_fits),
        filled(outcome.predicted, kind, fits=live_fits and desired_fits),
        kind,
    )
    return DiffResult(modified=not same(sides.live, sides.predicted), way=way, look=lambda: sides)


def _three_way(applied: Object, desired: Object, live: Object) -> Outcome | None:
    """Upstream falls back to a two-way diff if the three-way diff fails."""
    try:
        return three_way(applied, desired, live)
    except DiffError:
        return None


def _filled_once(outcome: Outcome) -> Sides:
    tree = filled(outcome.live, outcome.kind)
    return Sides(tree, tree, outcome.kind)


def _one_sided(desired: Object | None, live: Object | None, options: DiffOptions) -> DiffResult:
    """One side is missing: a missing live object counts as modified, an extra one does not."""
    if live is not None:
        return DiffResult(modified=False, way="delete", look=lambda: Sides(prepared(live, options), None))
    if desired is not None:
        return DiffResult(modified=True, way="create", look=lambda: Sides(None, prepared(desired, options)))
    raise DiffError("both live and config are null objects")
