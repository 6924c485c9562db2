"""What is wrong with a sync window, and how people change them.

Mirrors `SyncWindow.Validate`, `Update` and `HashIdentity`, and the part of `ValidateProject` on windows,
Argo CD 3.6. Only the API server asks: a window that came by kubectl was never checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from whysync.argocd.api.project import SyncWindow
from whysync.argocd.sync_windows.windows import BadWindow, read_window

_LONGEST_DESCRIPTION: Final = 255


def window_problem(window: SyncWindow) -> str | None:
    """What is wrong with one window, in Argo CD's words. Mirrors `SyncWindow.Validate`."""
    if window.kind not in ("allow", "deny"):
        return f"kind '{window.kind}' mismatch: can only be allow or deny"
    try:
        read_window(window)
    except BadWindow as problem:
        return str(problem)
    if len(window.description.encode(errors="replace")) > _LONGEST_DESCRIPTION:
        return "description must not exceed 255 characters"
    return None


def windows_problem(windows: Sequence[SyncWindow]) -> str | None:
    """The first problem of the windows of a project, including duplicates."""
    seen: set[SyncWindow] = set()
    for window in windows:
        if identity(window) in seen:
            key = f"kind '{window.kind}', schedule '{window.schedule}', and duration '{window.duration}'"
            return f"sync window with {key} already exists (duplicate detected)"
        seen.add(identity(window))
        if problem := window_problem(window):
            return problem
    return None


def identity(window: SyncWindow) -> SyncWindow:
    """What makes two windows the same one. Mirrors `HashIdentity`; differs: no number."""
    return msgspec.structs.replace(window, manual_sync=False, description="", sync_overrun=False)


def updated(window: SyncWindow, change: SyncWindow) -> SyncWindow:
    """The window after `argocd proj windows update`. Mirrors `SyncWindow.Update`: no zone means UTC again."""
    names = ("schedule", "duration", "applications", "namespaces", "clusters", "description")
    changes = {name: value for name in names if (value := getattr(change, name))}
    if not changes:
        message = "schedule, duration, application, namespace, cluster or description"
        raise ValueError(f"cannot update: require one or more of {message}")
    return msgspec.structs.replace(window, **changes, time_zone=change.time_zone or "UTC")


def removed(windows: Sequence[SyncWindow], index: int) -> tuple[SyncWindow, ...]:
    """Mirrors `AppProjectSpec.DeleteWindow`."""
    if not 0 <= index < len(windows):
        raise ValueError(f"window with id '{index}' not found")
    return (*windows[:index], *windows[index + 1 :])
