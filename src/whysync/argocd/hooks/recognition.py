"""Hook types, sync waves and delete policies of objects.

Mirrors gitops-engine `pkg/sync/hook`, `syncwaves` and `ignore`, and the controller's `hook.go` for deletion
hooks, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.hooks.annotations import (
    HELM_HOOK,
    HELM_HOOK_DELETE_POLICY,
    HELM_HOOK_WEIGHT,
    HOOK,
    HOOK_DELETE_POLICY,
    SYNC_WAVE,
    annotation,
    number,
    options,
    written,
)
from whysync.json_tree import Object


class HookType(StrEnum):
    PRE_SYNC = "PreSync"
    SYNC = "Sync"
    POST_SYNC = "PostSync"
    SYNC_FAIL = "SyncFail"
    SKIP = "Skip"


class SyncPhase(StrEnum):
    """The sync phases in their order."""

    PRE_SYNC = "PreSync"
    SYNC = "Sync"
    POST_SYNC = "PostSync"
    SYNC_FAIL = "SyncFail"


class DeletionHook(StrEnum):
    """Hooks that run when the Application is deleted; a sync ignores them."""

    PRE_DELETE = "PreDelete"
    POST_DELETE = "PostDelete"


class DeletePolicy(StrEnum):
    HOOK_SUCCEEDED = "HookSucceeded"
    HOOK_FAILED = "HookFailed"
    BEFORE_HOOK_CREATION = "BeforeHookCreation"


_TYPES: Final = {kind.value: kind for kind in HookType}
_DELETE_POLICIES: Final = {policy.value: policy for policy in DeletePolicy}
HELM_TYPES: Final = {
    "pre-install": HookType.PRE_SYNC,
    "pre-upgrade": HookType.PRE_SYNC,
    "post-upgrade": HookType.POST_SYNC,
    "post-install": HookType.POST_SYNC,
}
HELM_DELETE_POLICIES: Final = {
    "before-hook-creation": DeletePolicy.BEFORE_HOOK_CREATION,
    "hook-succeeded": DeletePolicy.HOOK_SUCCEEDED,
    "hook-failed": DeletePolicy.HOOK_FAILED,
}
_HELM_DELETION: Final = {DeletionHook.PRE_DELETE: "pre-delete", DeletionHook.POST_DELETE: "post-delete"}


def is_unmarked(obj: Object) -> bool:
    """Has the object no hook annotation? A fast path, because most objects have none."""
    annotations = written(obj)
    return HOOK not in annotations and HELM_HOOK not in annotations


def is_hook(obj: Object) -> bool:
    """Has the object a hook annotation with any value except only `Skip`?"""
    if is_unmarked(obj):
        return False
    if annotation(obj, HOOK) is not None:
        return not is_skipped(obj)
    return is_helm_hook(obj)


def is_helm_hook(obj: Object) -> bool:
    """Helm uses the same annotation for CRDs, which are not hooks."""
    value = annotation(obj, HELM_HOOK)
    return value is not None and value != "crd-install"


def hook_types(obj: Object) -> tuple[HookType, ...]:
    """Argo CD's hook types if one is valid, otherwise Helm's; unknown types are ignored."""
    argocd_types = tuple(_TYPES[name] for name in options(obj, HOOK) if name in _TYPES)
    return argocd_types or tuple(HELM_TYPES[name] for name in helm_types(obj))


def helm_types(obj: Object) -> tuple[str, ...]:
    return tuple(name for name in options(obj, HELM_HOOK) if name in HELM_TYPES)


def is_skipped(obj: Object) -> bool:
    """Only `Skip`: the object is neither synced nor assessed."""
    return not is_unmarked(obj) and hook_types(obj) == (HookType.SKIP,)


def is_ignored(obj: Object) -> bool:
    """A hook without a known type, such as a misspelled one or a Helm test, which a sync ignores."""
    return is_hook(obj) and not hook_types(obj)


def sync_phases(obj: Object) -> tuple[SyncPhase, ...]:
    """The phases in which a sync applies the object, in their order."""
    if is_unmarked(obj):
        return (SyncPhase.SYNC,)
    if is_skipped(obj):
        return ()
    if not is_hook(obj):
        return (SyncPhase.SYNC,)
    types = hook_types(obj)
    return tuple(phase for phase in SyncPhase if phase.value in types)


def delete_policies(obj: Object) -> tuple[DeletePolicy, ...]:
    names = options(obj, HOOK_DELETE_POLICY)
    argocd_policies = tuple(_DELETE_POLICIES[name] for name in names if name in _DELETE_POLICIES)
    helm = tuple(HELM_DELETE_POLICIES[name] for name in helm_delete_policies(obj))
    return argocd_policies + helm or (DeletePolicy.BEFORE_HOOK_CREATION,)


def helm_delete_policies(obj: Object) -> tuple[str, ...]:
    return tuple(name for name in options(obj, HELM_HOOK_DELETE_POLICY) if name in HELM_DELETE_POLICIES)


def helm_weight(obj: Object) -> int:
    return number(obj, HELM_HOOK_WEIGHT) or 0


def wave_of(obj: Object) -> int:
    """The sync wave; if it is missing or invalid, Helm's hook weight."""
    wave = number(obj, SYNC_WAVE)
    return helm_weight(obj) if wave is None else wave


def is_deletion_hook(obj: Object, kind: DeletionHook) -> bool:
    return kind.value in options(obj, HOOK) or _HELM_DELETION[kind] in options(obj, HELM_HOOK)


def is_any_hook(obj: Object) -> bool:
    """Is it a sync hook or a deletion hook?"""
    return is_hook(obj) or any(is_deletion_hook(obj, kind) for kind in DeletionHook)


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """The targets of a sync, and whether there are deletion hooks."""

    sync: tuple[Object, ...]
    has_pre_delete: bool
    has_post_delete: bool


def partition_for_sync(targets: Iterable[Object]) -> Partition:
    """Removes objects that are only deletion hooks; a hook that also has a sync phase stays."""
    present = dict.fromkeys(DeletionHook, False)
    sync_targets: list[Object] = []
    for obj in targets:
        if is_unmarked(obj):
            sync_targets.append(obj)
            continue
        kinds = [kind for kind in DeletionHook if is_deletion_hook(obj, kind)]
        in_a_sync = any(kind is not HookType.SKIP for kind in hook_types(obj))
        # upstream does not check further types of a removed object
        for kind in kinds if in_a_sync else kinds[:1]:
            present[kind] = True
        if in_a_sync or not kinds:
            sync_targets.append(obj)
    return Partition(
        sync=tuple(sync_targets),
        has_pre_delete=present[DeletionHook.PRE_DELETE],
        has_post_delete=present[DeletionHook.POST_DELETE],
    )


def first_deleted(objects: Iterable[Object]) -> tuple[Object, ...]:
    """The objects of the highest wave, which are deleted first."""
    remaining = tuple(objects)
    if not remaining:
        return ()
    highest = max(wave_of(obj) for obj in remaining)
    return tuple(obj for obj in remaining if wave_of(obj) == highest)
