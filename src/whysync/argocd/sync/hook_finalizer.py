"""The finalizer of hooks: it keeps one that cleans up after itself until its outcome has been read."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object, dig, fields, items

HOOK_FINALIZER: Final = "argocd.argoproj.io/hook-finalizer"


def is_held(obj: Object) -> bool:
    return HOOK_FINALIZER in items(dig(obj, "metadata", "finalizers"))


def held(obj: Object) -> Object:
    """With the finalizer, behind those that it has."""
    if is_held(obj):
        return obj
    meta = fields(obj.get("metadata"))
    return {**obj, "metadata": {**meta, "finalizers": [*items(meta.get("finalizers")), HOOK_FINALIZER]}}


def released(obj: Object) -> Object:
    """Without the finalizer."""
    if not is_held(obj):
        return obj
    meta = fields(obj.get("metadata"))
    kept = [*items(meta.get("finalizers"))]
    kept.remove(HOOK_FINALIZER)
    return {**obj, "metadata": {**meta, "finalizers": kept}}
