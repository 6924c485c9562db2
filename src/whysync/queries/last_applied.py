"""What Git said of an object that it does not declare any more: client-side apply keeps a copy."""

from __future__ import annotations

from whysync.argocd.tracking import TRACKING_ID
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.merge.last_applied import last_applied, last_applied_text

# Longer ones are nothing to read, let alone to paste.
_LONGEST = 10_000
_MASKED = "<masked "


def last_applied_manifest(live: Manifest | None) -> Object | None:
    """The manifest that was applied last, without Argo CD's mark; `None` where it is not known in full."""
    if live is None or live.ref.kind == "Secret":
        return None
    annotation, applied = last_applied_text(live.body) or "", last_applied(live.body)
    if applied is None or len(annotation) > _LONGEST or _MASKED in annotation.replace("\\u003c", "<"):
        return None
    meta = dict(fields(applied.get("metadata")))
    annotations = dict(fields(meta.pop("annotations", None)))
    annotations.pop(TRACKING_ID, None)
    return {**applied, "metadata": {**meta, **({"annotations": annotations} if annotations else {})}}
