"""Is an object a hook, of which types, in which wave, and when is it deleted?

Mirrors gitops-engine `pkg/sync/hook`, `syncwaves` and `ignore`, and the controller's `hook.go` for hooks of
the deletion, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

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
    """In the order in which they run."""

    PRE_SYNC = "PreSync"
    SYNC = "Sync"
    POST_SYNC = "PostSync"
    SYNC_FAIL = "SyncFail"


class DeletionHook(StrEnum):
    """Hooks that run when the Application is deleted; a sync knows nothing of them."""

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
    """No annotation of hooks at all, as with nearly all objects: then nothing need be read from them."""
    annotations = written(obj)
    return HOOK not in annotations and HELM_HOOK not in annotations


def is_hook(obj: Object) -> bool:
    """The annotation makes it one, whatever its value, but for a lone `Skip`."""
    if is_unmarked(obj):
        return False
    if annotation(obj, HOOK) is not None:
        return not is_skipped(obj)
    return is_helm_hook(obj)


def is_helm_hook(obj: Object) -> bool:
    """Helm marks CRDs with the same annotation, though they are no hooks."""
    value = annotation(obj, HELM_HOOK)
    return value is not None and value != "crd-install"


def hook_types(obj: Object) -> tuple[HookType, ...]:
    """Argo CD's own where one of them is valid, else Helm's; names that nobody knows are left out."""
    own = tuple(_TYPES[name] for name in options(obj, HOOK) if name in _TYPES)
    return own or tuple(HELM_TYPES[name] for name in helm_types(obj))


def helm_types(obj: Object) -> tuple[str, ...]:
    return tuple(name for name in options(obj, HELM_HOOK) if name in HELM_TYPES)


def is_skipped(obj: Object) -> bool:
    """`Skip` and nothing else: the object is neither synced nor judged."""
    return not is_unmarked(obj) and hook_types(obj) == (HookType.SKIP,)


def is_ignored(obj: Object) -> bool:
    """A hook of no known type, such as a misspelt one or a Helm test: it vanishes from the sync."""
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
    named = options(obj, HOOK_DELETE_POLICY)
    own = tuple(_DELETE_POLICIES[name] for name in named if name in _DELETE_POLICIES)
    helm = tuple(HELM_DELETE_POLICIES[name] for name in helm_delete_policies(obj))
    return own + helm or (DeletePolicy.BEFORE_HOOK_CREATION,)


def helm_delete_policies(obj: Object) -> tuple[str, ...]:
    return tuple(name for name in options(obj, HELM_HOOK_DELETE_POLICY) if name in HELM_DELETE_POLICIES)


def helm_weight(obj: Object) -> int:
    return number(obj, HELM_HOOK_WEIGHT) or 0


def wave_of(obj: Object) -> int:
    """The sync wave; a number that cannot be read counts for nothing, and Helm's weight stands in."""
    own = number(obj, SYNC_WAVE)
    return helm_weight(obj) if own is None else own


def is_deletion_hook(obj: Object, kind: DeletionHook) -> bool:
    return kind.value in options(obj, HOOK) or _HELM_DELETION[kind] in options(obj, HELM_HOOK)


def is_any_hook(obj: Object) -> bool:
    """A hook to the controller: of a sync or of the deletion."""
    return is_hook(obj) or any(is_deletion_hook(obj, kind) for kind in DeletionHook)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Targets that take part in a sync, and whether hooks of the deletion were among the rest."""

    sync: tuple[Object, ...]
    has_pre_delete: bool
    has_post_delete: bool


def partition_for_sync(targets: Iterable[Object]) -> Partition:
    """Hooks of the deletion alone are set aside; one that also names a sync phase stays."""
    present = dict.fromkeys(DeletionHook, False)
    kept: list[Object] = []
    for obj in targets:
        if is_unmarked(obj):
            kept.append(obj)
            continue
        kinds = [kind for kind in DeletionHook if is_deletion_hook(obj, kind)]
        in_a_sync = any(kind is not HookType.SKIP for kind in hook_types(obj))
        # upstream looks no further once the first kind has taken the object out
        for kind in kinds if in_a_sync else kinds[:1]:
            present[kind] = True
        if in_a_sync or not kinds:
            kept.append(obj)
    return Partition(
        sync=tuple(kept),
        has_pre_delete=present[DeletionHook.PRE_DELETE],
        has_post_delete=present[DeletionHook.POST_DELETE],
    )


def first_deleted(objects: Iterable[Object]) -> tuple[Object, ...]:
    """The objects that are deleted first with the Application: all of the highest wave."""
    remaining = tuple(objects)
    if not remaining:
        return ()
    highest = max(wave_of(obj) for obj in remaining)
    return tuple(obj for obj in remaining if wave_of(obj) == highest)
