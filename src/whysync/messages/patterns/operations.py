"""Messages of Argo CD about operations and auto-sync, and its warnings."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import NO_OBJECT_NAME, Failure, ObjectName
from whysync.messages.object_names import named_object
from whysync.messages.pattern import Context, Pattern, compiled, fill, group_text, number


class NamespaceUnset(Failure, frozen=True, kw_only=True):
    """A namespaced object without a namespace in the manifest or in the Application's destination."""

    resource: ObjectName = NO_OBJECT_NAME


class SharedResource(Failure, frozen=True, kw_only=True):
    """`refused`: the sync failed because of it (`FailOnSharedResource`)."""

    resource: ObjectName = NO_OBJECT_NAME
    apps: tuple[str, ...] = ()
    refused: bool = False


class DuplicateResource(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME
    times: int = 0


class ExcludedResource(Failure, frozen=True, kw_only=True):
    resource: ObjectName = NO_OBJECT_NAME


class OrphanedResources(Failure, frozen=True, kw_only=True):
    count: int = 0


class SyncWindowBlocked(Failure, frozen=True, kw_only=True):
    """`invalid` is the error of a window that cannot be parsed, which also blocks syncs."""

    invalid: str = ""


class AutosyncWipeRefused(Failure, frozen=True, kw_only=True):
    revision: str = ""


class AutosyncSkipped(Failure, frozen=True, kw_only=True):
    """Why auto-sync was skipped (in the controller's log); `already_tried`: the commit was synced before."""

    detail: str = ""
    revision: str = ""
    already_tried: bool = False


class OperationTerminated(Failure, frozen=True, kw_only=True):
    by_timeout: bool = False


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
    """`more` is the number of other resources or hooks."""

    what: Awaited
    group: str = ""
    kind: str = ""
    name: str = ""
    more: int = 0


class PruneSkipped(Failure, frozen=True, kw_only=True):
    """The object is no longer in Git, but was not pruned; `forbidden` if its own sync option prevents it."""

    forbidden: str = ""


class HookFailed(Failure, frozen=True, kw_only=True):
    """A hook failed. The messages of its Job or Pod show why."""

    hook: str = ""
    phase: str = ""
    detail: str = ""


class ResourceVanished(Failure, frozen=True, kw_only=True):
    """Argo CD waited for an object that was deleted."""

    resource: ObjectName = NO_OBJECT_NAME


_AWAITED = {
    "healthy state": Awaited.HEALTH,
    "completion": Awaited.HOOK,
    "deletion": Awaited.DELETION,
    "pruning confirmation": Awaited.PRUNE_CONFIRMATION,
}


def waiting(match: re.Match[str], context: Context) -> Failure | None:
    what = _AWAITED.get(group_text(match, "what").lower())
    if what is None:  # the text is truncated
        return None
    return Waiting(
        text=context.text,
        what=what,
        group=group_text(match, "group"),
        kind=group_text(match, "kind"),
        name=group_text(match, "name"),
        more=number(match, "more") or 0,
    )


def shared(match: re.Match[str], context: Context) -> Failure:
    namespace, _, name = group_text(match, "name").rpartition("/")
    return SharedResource(
        text=context.text,
        resource=ObjectName(kind=group_text(match, "kind"), namespace=namespace, name=name),
        apps=(group_text(match, "app"), group_text(match, "other").rstrip(".")),
        refused="shared resource found" in context.text.lower(),
    )


# Also the beginnings of the messages, which may be cut off.
_TRIED = ("already", "most recent sync", "previous sync attempt")


def autosync(match: re.Match[str], context: Context) -> Failure:
    detail = group_text(match, "detail")
    revision = compiled(r"(?:to|for) \[?([0-9a-f]{7,64})\b").search(detail)
    return AutosyncSkipped(
        text=context.text,
        detail=detail,
        revision=revision[1] if revision else "",
        already_tried=any(words in detail for words in _TRIED),
    )


operation_terminated = fill(
    OperationTerminated, by_timeout=lambda match, _: bool(group_text(match, "timeout"))
)


FIRST: tuple[Pattern, ...] = (
    # Warnings.
    Pattern(
        " appeared ",
        r"Resource (?P<group>[\w.-]{0,253})/(?P<kind>\w{1,63})/"
        r"(?P<namespace>[\w.-]{0,253})/(?P<name>[^\s]{1,253}) appeared "
        r"(?P<times>\d{1,9}) times",
        fill(DuplicateResource, resource=named_object),
    ),
    Pattern(
        "is part of applications",
        r"(?P<kind>\w{1,63})/(?P<name>\S{1,500}) is part of applications "
        r"(?P<app>\S{1,500}) and (?P<other>\S{1,500})",
        shared,
    ),
    Pattern(
        "is part of a different application",
        r"(?P<kind>\w{1,63})/(?P<name>\S{1,500}) is part of a different application: (?P<other>\S{1,500})",
        shared,
    ),
    Pattern(
        "is excluded in the settings",
        r"Resource (?P<group>[\w.-]{0,253})/(?P<kind>\w{1,63}) "
        r"(?P<name>\S{1,253}) is excluded in the settings",
        fill(ExcludedResource, resource=named_object),
    ),
    # The type of the condition is enough, if its message was cut off.
    Pattern(
        "ExcludedResourceWarning: ",
        r"ExcludedResourceWarning: Resource (?P<group>[\w.-]{0,253})/(?P<kind>\w{1,63}) (?P<name>\S{1,253})",
        fill(ExcludedResource, resource=named_object),
    ),
    Pattern(
        "orphaned resources",
        r"Application has (?P<count>\d{1,9}) orphaned resources",
        fill(OrphanedResources),
    ),
    Pattern(
        "Namespace for ",
        r"Namespace for (?P<name>\S{1,253}) (?P<gvk>.{1,300}?) is missing\.",
        fill(
            NamespaceUnset,
            resource=lambda match, _: ObjectName(
                name=group_text(match, "name"), kind=group_text(match, "gvk").rpartition("Kind=")[2]
            ),
        ),
    ),
    # Operations.
    Pattern(
        "waiting for ",
        r"waiting for (?P<what>healthy state|completion|deletion|"
        r"pruning confirmation) of (?:hook )?(?P<group>[\w.-]{0,253})/"
        r"(?P<kind>\w{1,63})/(?P<name>[^\s]{1,253})(?: and "
        r"(?P<more>\d{1,9}) more (?:hooks|resources))?",
        waiting,
    ),
    Pattern(
        "sync window",
        r"blocked by sync window(?:: (?P<invalid>.*))?|[Ss]ync prevented by sync window|"
        r"invalid sync windows?: (?P<bad>.*)",
        fill(
            SyncWindowBlocked,
            invalid=lambda match, _: group_text(match, "invalid") or group_text(match, "bad"),
        ),
    ),
    Pattern(
        "wipe out all resources",
        r"auto-sync will wipe out all resources",
        fill(
            AutosyncWipeRefused,
            revision=lambda _, context: next(
                (layer.revision for layer in context.layers if layer.revision), ""
            ),
        ),
    ),
    Pattern("Skipping auto-sync", r"Skipping auto-sync: (?P<detail>.*)", autosync),
    Pattern(
        "peration terminated",
        r"[Oo]peration terminated(?P<timeout>, triggered by controller sync timeout)?",
        operation_terminated,
    ),
    Pattern(
        "peration is terminating",
        r"[Oo]peration is terminating(?P<timeout> due to timeout)?",
        operation_terminated,
    ),
    Pattern(
        "peration termination had errors",
        r"[Oo]peration termination had errors",
        fill(OperationTerminated),
    ),
    Pattern(
        "another operation is already in progress",
        r"another operation is already in progress",
        fill(OperationInProgress),
    ),
    Pattern(
        "impersonate",
        r"(?:failed to derive|error deriving) service account to impersonate.*",
        fill(ImpersonationFailed, whole="detail"),
    ),
    Pattern(
        "no matching service account found",
        r"no matching service account found for destination server "
        r"(?P<server>\S{1,300}) and namespace (?P<namespace>\S{0,253})",
        fill(ImpersonationFailed, whole="detail"),
    ),
    Pattern(
        "prun",
        r"^ignored \((?:requires pruning|(?P<forbidden>no prune))\)|\(requires pruning\)|"
        r"deleted from Kubernetes if the prune option is enabled",
        fill(PruneSkipped),
    ),
    Pattern(
        "hook(s) failed",
        r"(?P<phase>PreDelete|PostDelete) hook\(s\) failed: (?P<hook>.*)",
        fill(HookFailed),
    ),
    Pattern(
        "it might have been deleted",
        r"Resource (?P<group>[\w.-]{0,253})/(?P<kind>\w{1,63})/"
        r"(?P<name>\S{1,253}) is missing, it might have been deleted",
        fill(ResourceVanished, resource=named_object),
    ),
)
