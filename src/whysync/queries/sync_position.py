"""When a sync applies a manifest: its phase and wave, hooks and their delete policies (`argocd.hooks`)."""

from __future__ import annotations

from whysync.argocd import hooks
from whysync.argocd.hooks import DeletePolicy, SyncPhase
from whysync.diagnosis.fix import Set
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest

_POLICY = "/metadata/annotations/argocd.argoproj.io~1hook-delete-policy"
_HELM_POLICY = "/metadata/annotations/helm.sh~1hook-delete-policy"
_ORDER = tuple(SyncPhase)


def is_hook(manifest: Manifest) -> bool:
    return hooks.is_hook(manifest.body)


def first_phase(manifest: Manifest) -> SyncPhase:
    return next(iter(hooks.sync_phases(manifest.body)), SyncPhase.SYNC)


def wave_of(manifest: Manifest) -> int:
    return hooks.wave_of(manifest.body)


def is_deleted_before_next_run(manifest: Manifest) -> bool:
    """Is the old run of a hook deleted when the next sync starts? That is the default policy."""
    return DeletePolicy.BEFORE_HOOK_CREATION in hooks.delete_policies(manifest.body)


def delete_before_next_run(manifest: Manifest) -> Set:
    """Adds BeforeHookCreation to the delete policies that the hook has, in the annotation that sets them."""
    helm = manifest.at(_HELM_POLICY)
    if isinstance(manifest.at(_POLICY), Missing) and isinstance(helm, str) and helm:
        return Set(pointer=_HELM_POLICY, value=f"{helm},before-hook-creation")
    current = manifest.at(_POLICY)
    kept = f"{current}," if isinstance(current, str) and current else ""
    return Set(pointer=_POLICY, value=f"{kept}{DeletePolicy.BEFORE_HOOK_CREATION}")


def keeps_old_run(manifest: Manifest | None) -> bool:
    """Is it a hook with a fixed name whose old run is not deleted before the next one?"""
    return (
        manifest is not None
        and is_hook(manifest)
        and bool(manifest.ref.name)
        and not is_deleted_before_next_run(manifest)
    )


def comes_before(manifest: Manifest, other: Manifest) -> bool:
    """Is it applied and healthy before `other`? Objects of the same phase and wave have no order."""
    return _order_of(manifest) < _order_of(other)


def applied_before(manifest: Manifest, other: Manifest) -> bool:
    """Is it sent to the API server before `other`? Within one wave, the order of kinds decides."""
    return (*_order_of(manifest), hooks.kind_rank(manifest.ref.kind)) < (
        *_order_of(other),
        hooks.kind_rank(other.ref.kind),
    )


def phase_and_wave(manifest: Manifest) -> str:
    return f"{first_phase(manifest)}, wave {wave_of(manifest)}"


def _order_of(manifest: Manifest) -> tuple[int, int]:
    return _ORDER.index(first_phase(manifest)), wave_of(manifest)
