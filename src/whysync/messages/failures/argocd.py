"""Failures of Argo CD's own parts, its projects and permissions, and its words on a running operation."""

from __future__ import annotations

from enum import StrEnum

from whysync.messages.failure import NOTHING, Failure, Named, Network


class RepoServerDown(Failure, frozen=True, kw_only=True):
    host: str = ""
    reason: Network = Network.UNTOLD


class ArgocdCacheDown(Failure, frozen=True, kw_only=True):
    """Redis: not reached, refuses the password, or has lost what was in it (`detail`)."""

    host: str = ""
    reason: Network = Network.UNTOLD
    detail: str = ""


class ArgocdDiskFull(Failure, frozen=True, kw_only=True):
    path: str = ""


class SettingsMalformed(Failure, frozen=True, kw_only=True):
    key: str = ""
    detail: str = ""


class IgnoreRuleInvalid(Failure, frozen=True, kw_only=True):
    """An `ignoreDifferences` entry that cannot be compiled: it fails the comparison of the whole app."""

    expression: str = ""
    detail: str = ""


class ProjectMissing(Failure, frozen=True, kw_only=True):
    project: str = ""


class AppNamespaceNotPermitted(Failure, frozen=True, kw_only=True):
    app: str = ""
    namespace: str = ""
    project: str = ""


class ArgocdDenied(Failure, frozen=True, kw_only=True):
    """`permission denied: <resource>, <action>, <object>`: Argo CD's own RBAC."""

    resource: str = ""
    action: str = ""
    object: str = ""
    subject: str = ""


class ProjectRule(StrEnum):
    SOURCE = "source"
    DESTINATION = "destination"
    KIND = "kind"
    NAMESPACE = "namespace"
    HELM_REPO = "helm-repo"


class ProjectDenied(Failure, frozen=True, kw_only=True):
    """`value` is what was refused: a repository, `<server> <namespace>`, `<group>:<Kind>`, a namespace."""

    what: ProjectRule
    value: str = ""
    project: str = ""
    group: str = ""
    kind: str = ""
    server: str = ""
    namespace: str = ""


class NamespaceUnset(Failure, frozen=True, kw_only=True):
    """A namespaced object for which neither Git nor the Application names a namespace."""

    resource: Named = NOTHING


class SharedResource(Failure, frozen=True, kw_only=True):
    """`refused` when the sync failed because of it (`FailOnSharedResource`)."""

    resource: Named = NOTHING
    apps: tuple[str, ...] = ()
    refused: bool = False


class DuplicateResource(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING
    times: int = 0


class ExcludedResource(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING


class OrphanedResources(Failure, frozen=True, kw_only=True):
    count: int = 0


class SyncWindowBlocked(Failure, frozen=True, kw_only=True):
    """`invalid` is the complaint about a window that cannot be read, which blocks as well."""

    invalid: str = ""


class AutosyncWipeRefused(Failure, frozen=True, kw_only=True):
    revision: str = ""


class AutosyncSkipped(Failure, frozen=True, kw_only=True):
    """Why auto-sync does nothing (the controller's log); `already_tried`: this commit was synced before."""

    detail: str = ""
    revision: str = ""
    already_tried: bool = False


class OperationTerminated(Failure, frozen=True, kw_only=True):
    by_timeout: bool = False
    still_ending: bool = False


class OperationInProgress(Failure, frozen=True, kw_only=True):
    """Refused: another operation is already running."""


class ImpersonationFailed(Failure, frozen=True, kw_only=True):
    server: str = ""
    namespace: str = ""
    detail: str = ""


class Awaited(StrEnum):
    HOOK = "hook"
    HEALTH = "health"
    DELETION = "deletion"
    PRUNE_CONFIRMATION = "prune-confirmation"


class Waiting(Failure, frozen=True, kw_only=True):
    """`more` counts the resources (or hooks) beyond the one that is named."""

    what: Awaited
    group: str = ""
    kind: str = ""
    name: str = ""
    more: int = 0


class PruneSkipped(Failure, frozen=True, kw_only=True):
    """Not in Git any more and left in place; `forbidden_by_option` when `Prune=false` says so."""

    forbidden_by_option: bool = False


class HookFailed(Failure, frozen=True, kw_only=True):
    """What only a text about hooks says; why the Job itself failed is told by its own messages."""

    hook: str = ""
    phase: str = ""
    detail: str = ""


class ResourceVanished(Failure, frozen=True, kw_only=True):
    """Argo CD waited for it, and it is gone."""

    resource: Named = NOTHING


class HealthScriptError(Failure, frozen=True, kw_only=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    line: int | None = None
    detail: str = ""


class FinalizerStuck(Failure, frozen=True, kw_only=True):
    resource: Named = NOTHING
    finalizer: str = ""
    detail: str = ""
