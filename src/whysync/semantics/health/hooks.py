"""Is an object a hook? Health asks, because hooks take no part in an application's health."""

from __future__ import annotations

from typing import Final

from whysync.contracts.tree import Object, dig, fields, items

HOOK_FINALIZER: Final = "argocd.argoproj.io/hook-finalizer"

_HOOK: Final = "argocd.argoproj.io/hook"
_HELM_HOOK: Final = "helm.sh/hook"
_TYPES: Final = ("PreSync", "Sync", "PostSync", "SyncFail", "Skip")


def is_hook(obj: Object) -> bool:
    """Mirrors gitops-engine `hook.IsHook`, Argo CD 3.6: a value nobody knows makes a hook all the same."""
    annotations = _annotations(obj)
    if _HOOK in annotations:
        return not is_skipped(obj)
    # Helm once marked CRDs as hooks too, and they never were.
    return _HELM_HOOK in annotations and annotations[_HELM_HOOK] != "crd-install"


def is_skipped(obj: Object) -> bool:
    """Mirrors gitops-engine `hook.Skip`, Argo CD 3.6: Skip counts only where it is the one known type."""
    types = {part.strip() for part in _annotations(obj).get(_HOOK, "").split(",")}
    return [known for known in _TYPES if known in types] == ["Skip"]


def has_hook_finalizer(obj: Object) -> bool:
    return HOOK_FINALIZER in items(dig(obj, "metadata", "finalizers"))


def _annotations(obj: Object) -> dict[str, str]:
    found = fields(dig(obj, "metadata", "annotations"))
    return {key: value for key, value in found.items() if isinstance(value, str)}
