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


def wave_hook_failed(error: str) -> str:
    return f"SyncWaveHook failed: {error}"


def hook_created(name: str) -> str:
    """Of a hook without a health check, which has succeeded as soon as it exists."""
    return f"{name} created"


def hook_health_failed(error: str) -> str:
    """Of a hook. Upstream wraps the error twice."""
    return f"failed to get resource health: failed to get resource health: {error}"


def hook_health_failed_at_end(error: str) -> str:
    return f"Failed to get hook health: failed to get resource health: {error}"


def missing(task: SyncTask) -> str:
    return f"Resource {task.label} is missing, it might have been deleted"


def not_read(error: str) -> str:
    return f"Failed to get live resource {error}"


def not_read_at_end(error: str) -> str:
    return f"Failed to get live resource: {error}"


def finalizer_not_removed(error: str) -> str:
    return f"Failed to remove hook finalizer: {error}"


def old_finalizer_not_removed(error: str) -> str:
    """Of a hook of an earlier sync; upstream's text differs only in its first letter."""
    return f"failed to remove hook finalizer: {error}"


def not_deleted(error: str) -> str:
    return f"failed to delete resource: {error}"


def not_deleted_at_end(error: str) -> str:
    return f"Failed to delete: {error}"


def updated(kind: str, name: str) -> str:
    return f"{kind}/{name} updated"


def not_migrated(key: str, error: str) -> str:
    return f"Failed to perform client-side apply migration for {key}: {error}"


def namespace_not_read(error: str) -> str:
    return f"namespace auto creation failed: {error}"


def namespace_modifier_failed(error: str) -> str:
    return f"namespaceModifier error: {error}"


def blocked_by_window(error: str = "") -> str:
    return f"{_WINDOW}: {error}" if error else _WINDOW


def shared_resource(warning: str) -> str:
    return f"Shared resource found: {warning}"


def conditions(rows: Iterable[tuple[str, str]]) -> str:
    """`rows` are types and messages."""
    return ";".join(f"{type}: {message}" for type, message in rows)


def no_cluster(error: str) -> str:
    return f"Failed to get destination cluster: {error}"


def targets_not_normalized(error: str) -> str:
    return f"Failed to normalize target resources: {error}"


def no_service_account(error: str) -> str:
    return f"failed to derive service account to impersonate: {error}"


def no_matching_service_account(server: str, namespace: str) -> str:
    return f"no matching service account found for destination server {server} and namespace {namespace}"


def no_overrides(error: str) -> str:
    return f"Failed to load resource overrides: {error}"
