"""The last-applied configuration of a live object, as a manifest that can be restored in Git."""

from __future__ import annotations

from whysync.argocd.tracking import TRACKING_ID
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.merge.last_applied import last_applied, last_applied_text

# Longer manifests are not readable in a report.
_LONGEST = 10_000
_MASKED = "<masked "


def last_applied_manifest(live: Manifest | None) -> Object | None:
    """The manifest without Argo CD's tracking id; `None` if it is absent, masked or too long."""
    if live is None or live.ref.kind == "Secret":
        return None
    annotation, applied = last_applied_text(live.body) or "", last_applied(live.body)
    if applied is None or len(annotation) > _LONGEST or _MASKED in annotation.replace("\\u003c", "<"):
        return None
    meta = dict(fields(applied.get("metadata")))
    annotations = dict(fields(meta.pop("annotations", None)))
    annotations.pop(TRACKING_ID, None)
    return {**applied, "metadata": {**meta, **({"annotations": annotations} if annotations else {})}}
