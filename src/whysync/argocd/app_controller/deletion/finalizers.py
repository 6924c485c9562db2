"""The finalizers of an Application.

Mirrors `types.go` of the Application, Argo CD 3.6.
"""

from __future__ import annotations

from typing import Final

from whysync.argocd.hooks.recognition import DeletionHook
from whysync.argocd.sync.options import Propagation
from whysync.json_tree import Object, dig, items

RESOURCES: Final = "resources-finalizer.argocd.argoproj.io"
_BACKGROUND: Final = f"{RESOURCES}/background"
_CASCADING: Final = frozenset({RESOURCES, f"{RESOURCES}/foreground", _BACKGROUND})
_HOOKS: Final = {
    DeletionHook.PRE_DELETE: "pre-delete-finalizer.argocd.argoproj.io",
    DeletionHook.POST_DELETE: "post-delete-finalizer.argocd.argoproj.io",
}
CLEANUP: Final = "/cleanup"


class Finalizers:
    """The finalizers of one Application, changed in place."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = list(names)

    @staticmethod
    def of(application: Object) -> Finalizers:
        finalizers = items(dig(application, "metadata", "finalizers"))
        return Finalizers(tuple(finalizer for finalizer in finalizers if isinstance(finalizer, str)))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)

    @property
    def cascades(self) -> bool:
        """Are the resources deleted with the Application?"""
        return any(name in _CASCADING for name in self._names)

    @property
    def propagation(self) -> Propagation:
        """The propagation policy, from the first resources finalizer."""
        first = next((name for name in self._names if name in _CASCADING), "")
        return Propagation.BACKGROUND if first == _BACKGROUND else Propagation.FOREGROUND

    def has(self, hook: DeletionHook, stage: str = "") -> bool:
        return f"{_HOOKS[hook]}{stage}" in self._names

    def add(self, hook: DeletionHook) -> None:
        for stage in ("", CLEANUP):
            if not self.has(hook, stage):
                self._names.append(f"{_HOOKS[hook]}{stage}")

    def remove(self, hook: DeletionHook, stage: str = "") -> None:
        self._drop(f"{_HOOKS[hook]}{stage}")

    def cascade(self, propagation: str) -> None:
        """Mirrors `SetCascadedDeletion` with the finalizer of that policy; existing finalizers stay."""
        name = _BACKGROUND if propagation == "background" else RESOURCES
        if name not in self._names:
            self._names.append(name)

    def stop_cascading(self) -> None:
        for name in [name for name in self._names if name in _CASCADING]:
            self._drop(name)

    def remove_all(self) -> None:
        """Removes all of Argo CD's finalizers."""
        self.stop_cascading()
        for prefix in (_HOOKS[DeletionHook.POST_DELETE], _HOOKS[DeletionHook.PRE_DELETE]):
            for name in [name for name in self._names if name.startswith(prefix)]:
                self._drop(name)

    def _drop(self, name: str) -> None:
        """Removes a finalizer; as upstream, the last one takes its place."""
        if name in self._names:
            index, last = self._names.index(name), self._names.pop()
            if index < len(self._names):
                self._names[index] = last


def with_hook_finalizers(application: Object, *, pre_delete: bool, post_delete: bool) -> tuple[str, ...]:
    """The finalizers after a refresh: an app has a hook finalizer as long as Git has such hooks.

    An Application that is being deleted keeps its finalizers. Mirrors `processAppRefreshQueueItem`.
    """
    finalizers = Finalizers.of(application)
    if dig(application, "metadata", "deletionTimestamp"):
        return finalizers.names
    for hook, has_hooks in ((DeletionHook.PRE_DELETE, pre_delete), (DeletionHook.POST_DELETE, post_delete)):
        if has_hooks:
            finalizers.add(hook)
        else:
            finalizers.remove(hook)
            finalizers.remove(hook, CLEANUP)
    return finalizers.names
