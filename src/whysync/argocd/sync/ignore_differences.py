"""`RespectIgnoreDifferences=true`: ignored fields keep their live value when a sync applies the rest.

Mirrors `normalizeTargetResources`, Argo CD 3.6: live is normalized, the patch from there back to live is
applied to the normalized target, and what that patch changed in other fields is undone. `status` is never
copied. An ignored field that live lacks is not applied at all; a list of a custom resource is taken whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.normalization import Normalization
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.compare.state_diffs import normalization_of
from whysync.argocd.diff.normalize import normalize
from whysync.argocd.ignore_differences import BadRule
from whysync.argocd.tracking import MalformedMetadata
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.merge.merge_patch import merge_patch
from whysync.kubernetes.merge.strategic import BadPatch, apply_patch, three_way_patch
from whysync.kubernetes.schema.remarshal import scheme_type


class BadTargets(Exception):
    """The targets cannot be merged with live."""


def respectful_pairs(comparison: Comparison) -> tuple[Pair, ...]:
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
    wanted = respectful_target(
        row.target,
        row.live,
        normalized_target=normalize(target, ignore_aggregated_roles=aggregated, normalizer=normalization),
        normalized_live=normalize(live, ignore_aggregated_roles=aggregated, normalizer=normalization),
    )
    return Pair(wanted, row.live)


def respectful_target(
    target: Object, live: Object | None, *, normalized_target: Object, normalized_live: Object
) -> Object:
    """What is applied; without a live object that is Git's version. Raises `BadPatch`."""
    if live is None:
        return target
    wanted = _without_status(live)
    known = _without_status(normalized_live)
    schema = scheme_type(normalized_target)
    if schema is None:
        patched = merge_patch(normalized_target, _merge_patch_between(known, wanted))
    else:
        patched = apply_patch(normalized_target, three_way_patch(wanted, wanted, known, schema), schema)
    return _restored(patched, target, normalized_target, normalized_live)


def _restored(patched: Object, target: Object, normalized_target: Object, normalized_live: Object) -> Object:
    """Undo what came along because a parent was replaced as a whole."""
    kept: Object = {
        key: value for key, value in patched.items() if key in target or key not in normalized_live
    }
    for key, wanted in target.items():
        patched_value, normalized = patched.get(key), normalized_target.get(key)
        if isinstance(patched_value, dict) and isinstance(wanted, dict) and isinstance(normalized, dict):
            kept[key] = _restored(patched_value, wanted, normalized, fields(normalized_live.get(key)))
        elif key in normalized_target and normalized == wanted:
            # the normaliser left it alone, so it is not ignored and Git's value counts
            kept[key] = wanted
    return kept


def _merge_patch_between(original: Object, modified: Object) -> Object:
    """Mirrors `CreateMergePatch` (RFC 7386): null removes, lists are replaced."""
    patch: Object = {key: None for key in original if key not in modified}
    for key, new in modified.items():
        old: Json = original.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            below = _merge_patch_between(old, new)
            if below:
                patch[key] = below
        elif key not in original or old != new:
            patch[key] = new
    return patch


def _without_status(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key != "status"}
