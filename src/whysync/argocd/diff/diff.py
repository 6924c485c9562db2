"""Compares a desired object with the live one. Mirrors gitops-engine `Diff`, Argo CD 3.6."""

from __future__ import annotations

from typing import Final, NamedTuple

from whysync.argocd.diff.normalize import Normalizer, normalize
from whysync.argocd.diff.options import (
    DiffOptions,
    Strategy,
    asks_for_server_side_apply,
    prepared,
    prepared_and_fits,
)
from whysync.argocd.diff.remarshal import is_decodable, scheme_type
from whysync.argocd.diff.result import DiffResult, Sides
from whysync.json_tree import Json, Object, dig, fields, same, text
from whysync.kubernetes.api.ref import group_of, version_of
from whysync.kubernetes.merge import strategic
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.last_applied import last_applied, without_last_applied
from whysync.kubernetes.merge.merge_patch import merge_patch, three_way_merge_patch, trimmed_list, trimmed_map
from whysync.kubernetes.merge.structured import (
    DEDUCED,
    Atom,
    Schemas,
    TypeErrors,
    applied,
    decode_managers,
    validate,
)
from whysync.kubernetes.schema import Type, type_of
from whysync.kubernetes.schema.defaults import with_defaults

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
        from whysync.argocd.diff.diff import structured_merge_diff

        return structured_merge_diff(prepared(desired, options), prepared(live, options), options)
    applied = last_applied(live)
    if _is_plainly_equal(applied, desired, live, options.normalizer):
        way = "two-way" if applied is None else "three-way"
        return DiffResult(modified=False, way=way, compute_sides=lambda: _equal_sides(desired, live, options))
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
        return DiffResult(modified=False, way=way, compute_sides=lambda: _equal_filled(equal))
    kind = outcome.kind
    sides = Sides(
        filled(outcome.live, kind, fits=live_fits),
        filled(outcome.predicted, kind, fits=live_fits and desired_fits),
        kind,
    )
    return DiffResult(modified=not same(sides.live, sides.predicted), way=way, compute_sides=lambda: sides)


def _three_way(applied: Object, desired: Object, live: Object) -> Outcome | None:
    """Upstream falls back to a two-way diff if the three-way diff fails."""
    try:
        return three_way(applied, desired, live)
    except DiffError:
        return None


def _equal_filled(outcome: Outcome) -> Sides:
    tree = filled(outcome.live, outcome.kind)
    return Sides(tree, tree, outcome.kind)


def _one_sided(desired: Object | None, live: Object | None, options: DiffOptions) -> DiffResult:
    """One side is missing: a missing live object counts as modified, an extra one does not."""
    if live is not None:
        return DiffResult(
            modified=False, way="delete", compute_sides=lambda: Sides(prepared(live, options), None)
        )
    if desired is not None:
        return DiffResult(
            modified=True, way="create", compute_sides=lambda: Sides(None, prepared(desired, options))
        )
    raise DiffError("both live and config are null objects")


# Fast path: the desired object is a subset of the live one. True for most resources.


def is_still_desired(last_applied: Object | None, desired: Object) -> bool:
    """Does the desired object have all fields that were applied last?"""
    return last_applied is None or _same_but_namespace(last_applied, desired)


def is_within(desired: Object, live: Object) -> bool:
    """Does the live object have every field of the desired object with the same value?

    Live objects come from an API server, so their values are in canonical form already.
    """
    kind = type_of(text(desired.get("apiVersion")), text(desired.get("kind")), in_scheme=True)
    for key, value in desired.items():
        if key == "metadata":
            if not _meta_within(value, live.get("metadata"), kind):
                return False
        elif not _field_within(key, value, live, kind):
            return False
    return True


def _same_but_namespace(last_applied: Object, desired: Object) -> bool:
    if last_applied.keys() != desired.keys():
        return False
    for key, value in desired.items():
        old = last_applied[key]
        if key == "metadata" and isinstance(value, dict) and isinstance(old, dict):
            if not same(_plain_meta(value), _plain_meta(old)):
                return False
        elif not same(old, value):
            return False
    return True


def _plain_meta(meta: Object) -> Object:
    return {
        key: value
        for key, value in meta.items()
        if key not in {"namespace", "creationTimestamp"} and not (key == "annotations" and not value)
    }


def _meta_within(meta: Json, live: Json, kind: Type | None) -> bool:
    if not isinstance(meta, dict) or not isinstance(live, dict):
        return False
    inner = kind.struct.fields["metadata"].type if kind is not None else None
    for key, value in meta.items():
        if key in {"namespace", "creationTimestamp"} or (key == "annotations" and not value):
            continue
        if not _field_within(key, value, live, inner):
            return False
    return True


def _map_within(desired: Object, live: Object, kind: Type | None) -> bool:
    for key, value in desired.items():  # noqa: SIM110  # the hottest loop: a generator costs a third more
        if not _field_within(key, value, live, kind):
            return False
    return True


def _field_within(key: str, value: Json, live: Object, kind: Type | None) -> bool:
    if key not in live:
        return False
    live_value = live[key]
    if type(value) is dict:
        if type(live_value) is not dict:
            return False
        field = kind.struct.fields.get(key) if kind is not None and kind.kind == "struct" else None
        if kind is not None and kind.kind == "struct" and field is None:
            return same(value, live_value)
        if field is not None and field.retain_keys and value.keys() != live_value.keys():
            return False
        return _map_within(value, live_value, field.type if field is not None else None)
    if type(value) is list:
        if same(value, live_value):
            return True
        return type(live_value) is list and _list_within(key, value, live_value, kind)
    return value == live_value and value.__class__ is live_value.__class__


def _list_within(key: str, desired: list[Json], live: list[Json], kind: Type | None) -> bool:
    """Keyed lists match item by item in the same order; all other lists must be equal."""
    if kind is None or kind.kind != "struct" or len(desired) != len(live):
        return False
    field = kind.struct.fields.get(key)
    if field is None or not field.merges or not field.merge_key:
        return False
    merge_key, element = field.merge_key, field.type.of
    keys_seen: set[object] = set()
    for item, live_item in zip(desired, live, strict=True):
        if not isinstance(item, dict) or not isinstance(live_item, dict):
            return False
        name = item.get(merge_key)
        if name is None or isinstance(name, (dict, list)) or name in keys_seen:
            return False
        if field.retain_keys and item.keys() != live_item.keys():
            return False
        keys_seen.add(name)
        if not _map_within(item, live_item, element):
            return False
    return True


# Three-way diff, Argo CD's default: what would `kubectl apply` of the desired object change?
#
# Mirrors gitops-engine `ThreeWayDiff` and `TwoWayDiff`, Argo CD 3.6. The patch from the last applied, desired
# and live objects is applied to the live object; the result is the predicted live object. Without a
# last-applied annotation the desired object is used instead, and fields that were removed from Git are not
# detected.


class Outcome(NamedTuple):
    """The compared live and predicted live objects."""

    live: Object
    predicted: Object
    kind: Type | None


def two_way(desired: Object, live: Object) -> Outcome:
    desired = strip_namespace(desired)
    return _compare(desired, desired, live)


def three_way(last_applied: Object, desired: Object, live: Object) -> Outcome:
    return _compare(strip_namespace(last_applied), strip_namespace(desired), live)


def strip_namespace(obj: Object) -> Object:
    """Without the namespace, which the desired object may lack, and without empty annotations.

    Mirrors gitops-engine `removeNamespaceAnnotation`.
    """
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        return obj
    empty = "annotations" in meta and meta["annotations"] in (None, {})
    if "namespace" not in meta and not empty:
        return obj
    removed = {"namespace", "annotations"} if empty else {"namespace"}
    return {**obj, "metadata": {key: value for key, value in meta.items() if key not in removed}}


def _compare(last_applied: Object, desired: Object, live: Object) -> Outcome:
    kind = type_of(text(last_applied.get("apiVersion")), text(last_applied.get("kind")), in_scheme=True)
    if kind is None:
        patch = three_way_merge_patch(last_applied, desired, trimmed_map(last_applied, live))
        return Outcome(live, merge_patch(live, patch) if patch else live, None)
    try:
        trimmed_live = (
            _with_trimmed_claims(last_applied, live) if kind.name.endswith(".StatefulSet") else live
        )
        patch = strategic.three_way_patch(last_applied, desired, trimmed_live, kind)
    except strategic.BadPatch as problem:
        raise DiffError(f"failed to construct thre way merge patch: {problem}") from None
    try:
        predicted = strategic.apply_patch(live, patch, kind)
    except strategic.BadPatch as problem:
        raise DiffError(f"failed to construct strategic merge patch: {problem}") from None
    return Outcome(live, live if same(predicted, live) else predicted, kind)


def filled(obj: Object, kind: Type | None, *, fits: bool = False) -> Object:
    """An object of a comparison with the defaults of its kind, unless Go could not read it.

    `fits`: it is known that Go can decode it, so the expensive check is skipped.
    """
    return with_defaults(obj, kind) if kind is not None and (fits or is_decodable(obj, kind)) else obj


def _with_trimmed_claims(last_applied: Object, live: Object) -> Object:
    """Live volumeClaimTemplates reduced to the applied fields, because their defaults are not known.

    Mirrors gitops-engine `statefulSetWorkaround`.
    """
    applied, live_templates = (
        dig(last_applied, "spec", "volumeClaimTemplates"),
        dig(live, "spec", "volumeClaimTemplates"),
    )
    if not isinstance(applied, list) or not isinstance(live_templates, list):
        return live
    claims: Json = trimmed_list(applied, live_templates)
    return {**live, "spec": {**fields(live.get("spec")), "volumeClaimTemplates": claims}}


# Structured merge diff: compares with the result of a server-side apply, without the API server.
#
# Mirrors gitops-engine `StructuredMergeDiff`, Argo CD 3.6: used if the Application or the resource has
# `ServerSideApply=true`. Fields that Argo CD's manager applied and that are no longer in Git are removed;
# fields of other managers stay. Differs: a custom resource without a known schema is compared by its deduced
# type, while Argo CD uses the schema of the cluster.


def structured_merge_diff(desired: Object, live: Object, options: DiffOptions) -> DiffResult:
    """Both objects are canonical and normalized."""
    try:
        sides = _sides(desired, live, options)
    except DiffError as problem:
        raise DiffError(f"error calculating structured merge diff: {problem}") from None
    return DiffResult(
        modified=not same(sides.live, sides.predicted), way="structured-merge", compute_sides=lambda: sides
    )


def type_for(obj: Object, schemas: Schemas | None) -> Atom:
    """The type of an object; a kind that is missing in the schema of the cluster is an error."""
    api_version, kind = text(obj.get("apiVersion")), text(obj.get("kind"))
    atom = (schemas or Schemas()).atom(api_version, kind)
    if atom is not None:
        return atom
    if schemas is None:
        return DEDUCED
    group, version = group_of(api_version), version_of(api_version)
    raise DiffError(f"unable to resolve parseableType for GroupVersionKind: {group}/{version}, Kind={kind}")


def _sides(desired: Object, live: Object, options: DiffOptions) -> Sides:
    atom = type_for(desired, options.schemas)
    for obj, which in ((live, "live"), (desired, "config")):
        try:
            validate(obj, atom)
        except TypeErrors as problem:
            raise DiffError(f"error building typed value from {which} resource: {problem}") from None
    try:
        managers = decode_managers(live)
    except DiffError as problem:
        raise DiffError(f"error calculating diff: error decoding managed fields: {problem}") from None
    try:
        merged = applied(live, desired, managers, options.manager, atom)
    except DiffError as problem:
        raise DiffError(f"error calculating diff: error while running updater.Apply: {problem}") from None
    kind = scheme_type(desired)
    if merged is None:
        return Sides(live, live, kind)
    return Sides(filled(without_last_applied(live), kind), filled(without_last_applied(merged), kind), kind)
