"""Every sentence that a sync says: in the operation's message, and in the results of the resources.

Mirrors the texts of gitops-engine `sync_context.go` and of `SyncAppState`, Argo CD 3.6, capitals and all.
What the API server and kubectl say comes from the `ClusterOps`.
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
    """Discovery or the project refused tasks; each reason once, in the order of the alphabet."""
    unique_reasons = sorted({reason for reason in reasons if reason})
    message = "one or more synchronization tasks are not valid"
    return f"{message}: {'; '.join(unique_reasons)}" if unique_reasons else message


def with_reasons(message: str, failed: Sequence[SyncTask]) -> str:
    """Each reason once. Differs: in the order of the tasks, where upstream leaves it to chance."""
    reasons = dict.fromkeys(work.message for work in failed)
    return f"{message}, reason: {','.join(reasons)}" if failed else message


def with_failed_hooks(message: str, failed: Sequence[SyncTask]) -> str:
    """A second line where hooks of the phase SyncFail failed too."""
    return f"{message}\n{with_reasons('one or more SyncFail hooks failed', failed)}" if failed else message


def waiting(
    works: Sequence[SyncTask],
    *,
    for_deletion: bool = False,
    asks_first: Callable[[SyncTask], bool] = lambda _: False,
) -> str:
    """What a running operation waits for; `asks_first` finds prunes that somebody has to confirm.

    Mirrors `setRunningPhase`. The first hook is named before any resource, and those that wait for a
    confirmation before both; they count alone then, and are still called hooks if hooks are all there is.
    """
    if not works:
        return ""
    hooks = [work for work in works if work.is_hook]
    noun = "hooks" if len(hooks) == len(works) else "resources"
    reason = "completion of hook" if hooks else "healthy state of"
    if for_deletion:
        reason = "deletion of hook" if hooks else "deletion of"
    first, more = (hooks or works)[0], len(works) - 1
    unconfirmed = [work for work in works if asks_first(work)]
    if unconfirmed:
        reason, first, more = "pruning confirmation of", unconfirmed[0], len(unconfirmed) - 1
    message = f"waiting for {reason} {first.label}"
    return f"{message} and {more} more {noun}" if more > 0 else message


def pause_failed(error: str) -> str:
    return f"SyncWaveHook failed: {error}"


def hook_created(name: str) -> str:
    """Of a hook that nobody can judge: it has succeeded as soon as it is there."""
    return f"{name} created"


def no_health(error: str) -> str:
    """Of a hook. Upstream wraps the error twice."""
    return f"failed to get resource health: failed to get resource health: {error}"


def no_health_at_end(error: str) -> str:
    return f"Failed to get hook health: failed to get resource health: {error}"


def missing(work: SyncTask) -> str:
    return f"Resource {work.label} is missing, it might have been deleted"


def not_read(error: str) -> str:
    return f"Failed to get live resource {error}"


def not_read_at_end(error: str) -> str:
    return f"Failed to get live resource: {error}"


def finalizer_stays(error: str) -> str:
    return f"Failed to remove hook finalizer: {error}"


def old_finalizer_stays(error: str) -> str:
    """Of a hook that an earlier sync left behind; a small letter is all that differs."""
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


def namespace_not_made(error: str) -> str:
    return f"namespaceModifier error: {error}"


def blocked_by_window(error: str = "") -> str:
    return f"{_WINDOW}: {error}" if error else _WINDOW


def shared_resource(warning: str) -> str:
    return f"Shared resource found: {warning}"


def conditions(rows: Iterable[tuple[str, str]]) -> str:
    """Type and message of each."""
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
