"""CustomResourceDefinitions: where the CRD of a kind is defined, and whether it is applied first."""

from __future__ import annotations

import msgspec

from whysync.diagnosis import Case
from whysync.json_tree import dig
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.queries.sync_options import has_option
from whysync.queries.sync_position import comes_before

SKIP = "SkipDryRunOnMissingResource=true"


class CrdDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """Where the CRD was found. `maker` creates it at run time, as a Gatekeeper ConstraintTemplate does."""

    live: Manifest | None = None
    own: Manifest | None = None
    other_app: str = ""
    other: Manifest | None = None
    maker: Manifest | None = None


def crd_definition(case: Case, kind: str, api_group: str) -> CrdDefinition:
    live = next((m for m in case.index.snapshot.live if _defines(m, kind, api_group)), None)
    own = next((m for m in case.desired if _defines(m, kind, api_group)), None)
    maker = next((m for m in (*case.index.snapshot.live, *case.desired) if _makes(m, kind)), None)
    for app, manifests in sorted(case.index.snapshot.desired.items()):
        other = next((m for m in manifests if _defines(m, kind, api_group)), None)
        if other is not None and app != case.app.qualified_name:
            return CrdDefinition(live=live, own=own, maker=maker, other=other, other_app=app)
    return CrdDefinition(live=live, own=own, maker=maker)


def _defines(manifest: Manifest, kind: str, api_group: str) -> bool:
    return (
        manifest.ref.kind == "CustomResourceDefinition"
        and dig(manifest.spec, "names", "kind") == kind
        and (not api_group or manifest.spec.get("group") == api_group)
    )


def _makes(manifest: Manifest, kind: str) -> bool:
    """A template from which a controller makes a CRD: Gatekeeper's, or a Crossplane definition."""
    if manifest.ref.kind == "ConstraintTemplate":
        return dig(manifest.spec, "crd", "spec", "names", "kind") == kind
    if manifest.ref.kind == "CompositeResourceDefinition":
        return kind in (dig(manifest.spec, "names", "kind"), dig(manifest.spec, "claimNames", "kind"))
    return False


def is_applied_first(case: Case, ref: Ref, definition: CrdDefinition) -> bool:
    """The edits that this rule proposes are in place: what is left is to sync."""
    desired = case.desired_of(ref.key)
    if definition.own is not None and desired is not None:
        return comes_before(definition.own, desired)
    return definition.maker is not None and (case.has_sync_option(SKIP) or has_option(desired, SKIP))
