"""What Argo CD says of a running operation, of auto-sync, and what it warns of."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import NO_OBJECT_NAME, Failure, ObjectName
from whysync.messages.pattern import Context, Pattern, compiled, fill, group_text, number


class NamespaceUnset(Failure, frozen=True, kw_only=True):
    """A namespaced object for which neither Git nor the Application names a namespace."""

    resource: ObjectName = NO_OBJECT_NAME


class SharedResource(Failure, frozen=True, kw_only=True):
    """`refused` when the sync failed because of it (`FailOnSharedResource`)."""

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

    resource: ObjectName = NO_OBJECT_NAME


_AWAITED = {
    "healthy state": Awaited.HEALTH,
    "completion": Awaited.HOOK,
    "deletion": Awaited.DELETION,
    "pruning confirmation": Awaited.PRUNE_CONFIRMATION,
}


def waiting(match: re.Match[str], context: Context) -> Failure | None:
    what = _AWAITED.get(group_text(match, "what").lower())
    if what is None:  # the text was cut off before it
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
    place, _, name = group_text(match, "name").rpartition("/")
    return SharedResource(
        text=context.text,
        resource=ObjectName(kind=group_text(match, "kind"), namespace=place, name=name),
        apps=(group_text(match, "one"), group_text(match, "other").rstrip(".")),
        refused="shared resource found" in context.text.lower(),
    )


def autosync(match: re.Match[str], context: Context) -> Failure:
    detail = group_text(match, "detail")
    revision = compiled(r"(?:to|for) \[?([0-9a-f]{7,64})\b").search(detail)
    return AutosyncSkipped(
        text=context.text,
        detail=detail,
        revision=revision[1] if revision else "",
        already_tried="already" in detail or "previous sync attempt" in detail,
    )


def _revision(context: Context) -> str:
    return next((layer.revision for layer in context.layers if layer.revision), "")


FIRST: tuple[Pattern, ...] = (
    # What Argo CD warns of.
    Pattern(
        " appeared ",
        r"Resource (?P<group>[\w.-]{0,253})/(?P<kind>\w{1,63})/"
        r"(?P<namespace>[\w.-]{0,253})/(?P<name>[^\s]{1,253}) appeared "
        r"(?P<times>\d{1,9}) times",
        lambda m, c: DuplicateResource(
            text=c.text,
            resource=ObjectName(
                group=group_text(m, "group"),
                kind=group_text(m, "kind"),
                namespace=group_text(m, "namespace"),
                name=group_text(m, "name"),
            ),
            times=number(m, "times") or 0,
        ),
    ),
    Pattern(
        "is part of applications",
        r"(?P<kind>\w{1,63})/(?P<name>\S{1,500}) is part of applications "
        r"(?P<one>\S{1,500}) and (?P<other>\S{1,500})",
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
        lambda m, c: ExcludedResource(
            text=c.text,
            resource=ObjectName(
                group=group_text(m, "group"), kind=group_text(m, "kind"), name=group_text(m, "name")
            ),
        ),
    ),
    Pattern(
        "orphaned resources",
        r"Application has (?P<count>\d{1,9}) orphaned resources",
        fill(OrphanedResources),
    ),
    Pattern(
        "Namespace for ",
        r"Namespace for (?P<name>\S{1,253}) (?P<gvk>.{1,300}?) is missing\.",
        lambda m, c: NamespaceUnset(
            text=c.text,
            resource=ObjectName(name=group_text(m, "name"), kind=group_text(m, "gvk").rpartition("Kind=")[2]),
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
        lambda m, c: SyncWindowBlocked(text=c.text, invalid=group_text(m, "invalid") or group_text(m, "bad")),
    ),
    Pattern(
        "wipe out all resources",
        r"auto-sync will wipe out all resources",
        lambda _, c: AutosyncWipeRefused(text=c.text, revision=_revision(c)),
    ),
    Pattern("Skipping auto-sync", r"Skipping auto-sync: (?P<detail>.*)", autosync),
    Pattern(
        "peration terminated",
        r"[Oo]peration terminated(?P<timeout>, triggered by controller sync timeout)?",
        lambda m, c: OperationTerminated(text=c.text, by_timeout=bool(group_text(m, "timeout"))),
    ),
    Pattern(
        "peration is terminating",
        r"[Oo]peration is terminating(?P<timeout> due to timeout)?",
        lambda m, c: OperationTerminated(
            text=c.text, by_timeout=bool(group_text(m, "timeout")), still_ending=True
        ),
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
        r"^ignored \((?P<why>requires pruning|no prune)\)|\(requires pruning\)|"
        r"deleted from Kubernetes if the prune option is enabled",
        lambda m, c: PruneSkipped(text=c.text, forbidden_by_option=group_text(m, "why") == "no prune"),
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
        lambda m, c: ResourceVanished(
            text=c.text,
            resource=ObjectName(
                group=group_text(m, "group"), kind=group_text(m, "kind"), name=group_text(m, "name")
            ),
        ),
    ),
)
