"""CustomResourceDefinitions: where the CRD of a kind is defined, and whether it is applied first."""

from __future__ import annotations

import msgspec

from whysync.diagnosis import Case
from whysync.json_tree import dig
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.queries.sync_options import has_option
from whysync.queries.sync_position import comes_before

CONSTRAINTS = "constraints.gatekeeper.sh"
SKIP_DRY_RUN = "SkipDryRunOnMissingResource=true"


class CrdDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """Where a CRD is defined. `creator` is an object from which a controller creates it at run time.

    `creator_row` is the index of that object in `status.resources`, if its manifest is not in the facts.
    """

    live: Manifest | None = None
    own: Manifest | None = None
    other_app: str = ""
    other: Manifest | None = None
    creator: Manifest | None = None
    creator_ref: Ref | None = None
    creator_row: int | None = None


def crd_definition(case: Case, kind: str, api_group: str) -> CrdDefinition:
    """The CRD of a kind: live, in this app, in another app, or created by a controller."""
    live = next((m for m in case.index.snapshot.live if _defines(m, kind, api_group)), None)
    own = next((m for m in case.desired if _defines(m, kind, api_group)), None)
    creator = next((m for m in (*case.index.snapshot.live, *case.desired) if _creates_crd(m, kind)), None)
    row = _creator_row(case, kind, api_group) if creator is None and kind else None
    ref = creator.ref if creator is not None else None
    if row is not None:
        ref = case.app.status.resources[row].ref
    for app, manifests in sorted(case.index.snapshot.desired.items()):
        other = next((m for m in manifests if _defines(m, kind, api_group)), None)
        if other is not None and app != case.app.qualified_name:
            return CrdDefinition(
                live=live,
                own=own,
                creator=creator,
                creator_ref=ref,
                creator_row=row,
                other=other,
                other_app=app,
            )
    return CrdDefinition(live=live, own=own, creator=creator, creator_ref=ref, creator_row=row)


def _defines(manifest: Manifest, kind: str, api_group: str) -> bool:
    return (
        manifest.ref.kind == "CustomResourceDefinition"
        and dig(manifest.spec, "names", "kind") == kind
        and (not api_group or manifest.spec.get("group") == api_group)
    )


def _creates_crd(manifest: Manifest, kind: str) -> bool:
    """Is it a Gatekeeper template or a Crossplane definition from which a CRD is created?"""
    if manifest.ref.kind == "ConstraintTemplate":
        return dig(manifest.spec, "crd", "spec", "names", "kind") == kind
    if manifest.ref.kind == "CompositeResourceDefinition":
        return kind in (dig(manifest.spec, "names", "kind"), dig(manifest.spec, "claimNames", "kind"))
    return False


def _creator_row(case: Case, kind: str, api_group: str) -> int | None:
    """The row of the object that creates the CRD, by its name.

    Gatekeeper requires that a template has the name of its kind in lower case, Crossplane that a definition
    is named `<plural>.<group>`.
    """
    for index, row in enumerate(case.app.status.resources):
        if row.kind == "ConstraintTemplate" and api_group == CONSTRAINTS and row.name == kind.lower():
            return index
        if row.kind == "CompositeResourceDefinition" and api_group and row.name.endswith(f".{api_group}"):
            plurals = (f"{kind.lower()}s", f"x{kind.lower()}s")
            if row.name.removesuffix(f".{api_group}") in plurals:
                return index
    return None


def is_applied_first(case: Case, ref: Ref, definition: CrdDefinition) -> bool:
    """Does Git already apply the CRD before its resources, or skip the dry run? Then a sync is enough."""
    desired = case.desired_of(ref.key)
    if definition.own is not None and desired is not None:
        return comes_before(definition.own, desired)
    return definition.creator_ref is not None and (
        case.has_sync_option(SKIP_DRY_RUN) or has_option(desired, SKIP_DRY_RUN)
    )
