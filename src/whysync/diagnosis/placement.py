"""Where a manifest stands in a sync: its phase, its wave, and what becomes of it as a hook.

Mirrors gitops-engine `pkg/sync/hook` and `pkg/sync/syncwaves`, Argo CD 3.6.
"""

from __future__ import annotations

from enum import StrEnum

from whysync.contracts.manifest import Manifest
from whysync.contracts.tree import text

_HELM_PHASES = {
    "pre-install": "PreSync",
    "pre-upgrade": "PreSync",
    "post-install": "PostSync",
    "post-upgrade": "PostSync",
}
_KINDS = (
    "Namespace",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicaSet",
    "Deployment",
    "StatefulSet",
    "Job",
    "CronJob",
)
_PHASES = ("PreSync", "Sync", "PostSync", "SyncFail")


class DeletePolicy(StrEnum):
    BEFORE_HOOK_CREATION = "BeforeHookCreation"
    HOOK_SUCCEEDED = "HookSucceeded"
    HOOK_FAILED = "HookFailed"


_HELM_POLICIES = {
    "before-hook-creation": DeletePolicy.BEFORE_HOOK_CREATION,
    "hook-succeeded": DeletePolicy.HOOK_SUCCEEDED,
    "hook-failed": DeletePolicy.HOOK_FAILED,
}


def hook_phases(manifest: Manifest) -> tuple[str, ...]:
    """The phases in which it runs as a hook; Argo CD's own annotation wins over Helm's."""
    own = [word for word in _words(manifest, "argocd.argoproj.io/hook") if word in _PHASES]
    helm = [_HELM_PHASES[word] for word in _words(manifest, "helm.sh/hook") if word in _HELM_PHASES]
    return tuple(dict.fromkeys(own or helm))


def first_phase(manifest: Manifest) -> str:
    return next(iter(hook_phases(manifest)), "Sync")


def phase_order(phase: str) -> int:
    return _PHASES.index(phase) if phase in _PHASES else _PHASES.index("Sync")


def delete_policies(manifest: Manifest) -> frozenset[DeletePolicy]:
    """Without a valid one, `BeforeHookCreation` holds: the next sync deletes the old run first."""
    own = {
        DeletePolicy(word)
        for word in _words(manifest, "argocd.argoproj.io/hook-delete-policy")
        if word in tuple(DeletePolicy)
    }
    helm = {
        _HELM_POLICIES[word]
        for word in _words(manifest, "helm.sh/hook-delete-policy")
        if word in _HELM_POLICIES
    }
    return frozenset(own | helm or {DeletePolicy.BEFORE_HOOK_CREATION})


def wave_of(manifest: Manifest) -> int:
    """What does not read as a number falls through to Helm's weight, and then to 0."""
    for name in ("argocd.argoproj.io/sync-wave", "helm.sh/hook-weight"):
        try:
            return int(text(manifest.annotations.get(name)))
        except ValueError:
            continue
    return 0


def comes_before(one: Manifest, other: Manifest) -> bool:
    """Is `one` surely applied, and healthy, before `other`? The same phase and wave is not an order."""
    return _moment(one) < _moment(other)


def applied_before(one: Manifest, other: Manifest) -> bool:
    """Is `one` at least sent to the API server before `other`? Within one wave, by the order of kinds."""
    if _moment(one) != _moment(other):
        return _moment(one) < _moment(other)
    return _kind_order(one) < _kind_order(other)


def _kind_order(manifest: Manifest) -> int:
    """Mirrors `kindOrder` of gitops-engine for what Pods need; whatever is not listed comes last."""
    kind = manifest.ref.kind
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _moment(manifest: Manifest) -> tuple[int, int]:
    return phase_order(first_phase(manifest)), wave_of(manifest)


def place_in_words(manifest: Manifest) -> str:
    return f"{first_phase(manifest)}, wave {wave_of(manifest)}"


def _words(manifest: Manifest, annotation: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text(manifest.annotations.get(annotation)).split(","))
