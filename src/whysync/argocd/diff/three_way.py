"""Three-way diff, Argo CD's default: what would `kubectl apply` of the desired object change?

Mirrors gitops-engine `ThreeWayDiff` and `TwoWayDiff`, Argo CD 3.6. The patch from the last applied, desired
and live objects is applied to the live object; the result is the predicted live object. Without a
last-applied annotation the desired object is used instead, and fields that were removed from Git are not
detected.
"""

from __future__ import annotations

from typing import NamedTuple

from whysync.argocd.diff.remarshal import is_decodable
from whysync.json_tree import Json, Object, dig, fields, same, text
from whysync.kubernetes.merge import strategic
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.merge_patch import merge_patch, three_way_merge_patch, trimmed_list, trimmed_map
from whysync.kubernetes.schema import Type, type_of
from whysync.kubernetes.schema.defaults import with_defaults


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
