"""Structured merge diff: compares with the result of a server-side apply, without the API server.

Mirrors gitops-engine `StructuredMergeDiff`, Argo CD 3.6: used if the Application or the resource has
`ServerSideApply=true`. Fields that Argo CD's manager applied and that are no longer in Git are removed;
fields of other managers stay. Differs: a custom resource without a known schema is compared by its deduced
type, while Argo CD uses the schema of the cluster.
"""

from __future__ import annotations

from whysync.argocd.diff.options import DiffOptions
from whysync.argocd.diff.remarshal import scheme_type
from whysync.argocd.diff.result import DiffResult, Sides
from whysync.argocd.diff.three_way import filled
from whysync.json_tree import Object, same, text
from whysync.kubernetes.api.ref import group_of, version_of
from whysync.kubernetes.merge.errors import DiffError
from whysync.kubernetes.merge.last_applied import without_last_applied
from whysync.kubernetes.merge.structured import (
    DEDUCED,
    Atom,
    Schemas,
    TypeErrors,
    applied,
    decode_managers,
    validate,
)


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
