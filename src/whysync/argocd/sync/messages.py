"""Messages of a sync: of the operation, and of resource results.

Mirrors the texts of gitops-engine `sync_context.go` and of `SyncAppState`, Argo CD 3.6, including their
capitalization. Messages of the API server and of kubectl come from the `ClusterOps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from whysync.argocd.sync.sync_task import SyncTask

NAMESPACE_FAILED: Final = "the namespace failed to apply"
DRY_RUN_FAILED: Final = "one or more objects failed to apply (dry run)"
OBJECTS_FAILED: Final = "one or more objects failed to apply"
TASKS_FAILED: Final = "one or more synchronization tasks completed unsuccessfully"
TASKS_RUNNING: Final = "one or more tasks are running"
ALL_TASKS_RUN: Final = "successfully synced (all tasks run)"
NO_MORE_TASKS: Final = "successfully synced (no more tasks)"
TERMINATED: Final = "Operation terminated"
TERMINATED_WITH_ERRORS: Final = "Operation termination had errors"

NO_OPERATION: Final = "Invalid operation request: no operation specified"
_WINDOW: Final = "Sync operation blocked by sync window"

HOOK_TERMINATED: Final = "Terminated"
PRUNED_IN_DRY_RUN: Final = "pruned (dry run)"


def not_valid(reasons: Iterable[str]) -> str:
    """Discovery or the project refused tasks; the unique reasons are sorted."""
    unique_reasons = sorted({reason for reason in reasons if reason})
    message = "one or more synchronization tasks are not valid"
    return f"{message}: {'; '.join(unique_reasons)}" if unique_reasons else message


def with_reasons(message: str, failed: Sequence[SyncTask]) -> str:
    """With the unique reasons. Differs: in the order of the tasks, which is random upstream."""
    reasons = dict.fromkeys(task.message for task in failed)
    return f"{message}, reason: {','.join(reasons)}" if failed else message


def with_failed_hooks(message: str, failed: Sequence[SyncTask]) -> str:
    """With a second line if SyncFail hooks failed too."""
    return f"{message}\n{with_reasons('one or more SyncFail hooks failed', failed)}" if failed else message


def waiting(
    tasks: Sequence[SyncTask],
    *,
    for_deletion: bool = False,
    requires_prune_confirmation: Callable[[SyncTask], bool] = lambda _: False,
) -> str:
    """What a running operation waits for.

    Mirrors `setRunningPhase`. Tasks that wait for a prune confirmation come before hooks, hooks before
    resources. With unconfirmed prunes only these are counted, but the noun depends on all tasks.
    """
    if not tasks:
        return ""
    hooks = [task for task in tasks if task.is_hook]
    noun = "hooks" if len(hooks) == len(tasks) else "resources"
    reason = "completion of hook" if hooks else "healthy state of"
    if for_deletion:
        reason = "deletion of hook" if hooks else "deletion of"
    first, more = (hooks or tasks)[0], len(tasks) - 1
    unconfirmed = [task for task in tasks if requires_prune_confirmation(task)]
    if unconfirmed:
        reason, first, more = "pruning confirmation of", unconfirmed[0], len(unconfirmed) - 1
    message = f"waiting for {reason} {first.label}"
    return f"{message} and {more} more {noun}" if more > 0 else message


def finalizer_not_removed(error: str) -> str:
    return f"Failed to remove hook finalizer: {error}"


def not_deleted(error: str) -> str:
    return f"failed to delete resource: {error}"


def blocked_by_window(error: str = "") -> str:
    return f"{_WINDOW}: {error}" if error else _WINDOW


def conditions(rows: Iterable[tuple[str, str]]) -> str:
    """`rows` are types and messages."""
    return ";".join(f"{type}: {message}" for type, message in rows)
