"""`RespectIgnoreDifferences=true`: ignored fields keep their live value when a sync applies the rest.

Mirrors `normalizeTargetResources`, Argo CD 3.6: the live object is normalized, the patch from the normalized
to the live object is applied to the normalized target, and its changes to other fields are reverted. `status`
is never copied. An ignored field that the live object lacks is not applied; a list of a custom resource is
copied as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.compare.app_normalizer import Normalization
from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.reconcile_pairs import Pair
from whysync.argocd.compare.state_diffs import normalization_of
from whysync.argocd.diff.normalize import normalize
from whysync.argocd.diff.remarshal import scheme_type
from whysync.argocd.ignore_differences import BadRule
from whysync.argocd.tracking import MalformedMetadata
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.merge.merge_patch import merge_patch
from whysync.kubernetes.merge.strategic import BadPatch, apply_patch, three_way_patch


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
