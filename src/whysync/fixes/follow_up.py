"""What has to follow a change: terminate a running sync, refresh, or sync manually."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from typing import Final

from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, FixKind
from whysync.fixes.generated_app import application_set_of, parent_of
from whysync.fixes.while_deleting import is_being_deleted
from whysync.fixes.while_syncing import end_old_commit, end_running_sync, is_running
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.messages.parse import understand
from whysync.messages.patterns.operations import AutosyncWipeRefused
from whysync.messages.wrappers import LayerKind
from whysync.queries.commands import (
    CONTROLLER,
    app_argument,
    comment,
    kubectl,
    refresh,
    restart,
    sync,
    with_comment,
)

_READ_AT_STARTUP: Final = "argocd-cmd-params-cm"
_FILTERS_OF_KINDS: Final = ("/data/resource.exclusions", "/data/resource.inclusions")
_NOT_IN_APP: Final = ("rbac.authorization.k8s.io", "argoproj.io")


def following(fix: Fix, case: Case) -> tuple[str, ...]:
    """Commands to run after the change, in order; a fix that consists of commands has its own."""
    return () if fix.commands else tuple(_following(fix, case))


def noteworthy_commands(fix: Fix, case: Case) -> tuple[str, ...]:
    """The commands to run after the change if they are more than a refresh: without them it has no effect."""
    steps, parent = following(fix, case), _parent(fix, case)
    if len(steps) < 2 or not (
        is_running(case) or _has_failed(case) or fix.afterwards or _adds_objects(fix, case) or parent
    ):
        return ()
    return (comment("commit it and push"), *steps) if is_pushed(fix, case) else steps


def is_pushed(fix: Fix, case: Case) -> bool:
    """Is it a commit: of the app's manifests, or of what declares the app?"""
    of_app = fix.kind is FixKind.APPLICATION and bool(application_set_of(case, fix) or parent_of(case))
    return is_in_git(fix) or of_app


def _parent(fix: Fix, case: Case) -> str:
    """The app of apps in whose source the fix changes the Application."""
    is_elsewhere = fix.kind is FixKind.APPLICATION and not application_set_of(case, fix)
    return parent_of(case) if is_elsewhere else ""


def _following(fix: Fix, case: Case) -> Iterator[str]:
    if is_running(case):
        yield _end_running_sync(fix, case)
    if fix.kind is FixKind.SETTINGS and fix.target is not None and fix.target.name == _READ_AT_STARTUP:
        yield with_comment(restart(case, CONTROLLER), "it reads these settings only at startup")
    check = tuple(_check_of_permission(fix.create)) if fix.create is not None else ()
    if not is_in_git(fix):
        yield from check
    parent = _parent(fix, case)
    if parent:
        resource = quote(f"argoproj.io:Application:{case.application.ref.place}")
        yield with_comment(f"argocd app sync {quote(parent)} --resource {resource}", "it applies the change")
    yield refresh(case)
    if _needs_sync(fix, case):
        yield sync(case)
    afterwards = (*(check if is_in_git(fix) else ()), *fix.afterwards)
    if afterwards:
        yield f"argocd app wait {app_argument(case)} --sync --timeout 600"
    yield from afterwards


def _check_of_permission(manifest: Object) -> Iterator[str]:
    """Asks the API server about the first permission that a Role and its binding grant."""
    roles = {text(fields(item).get("kind")): fields(item) for item in items(manifest.get("items"))}
    role = roles.get("ClusterRole") or roles.get("Role")
    binding = roles.get("ClusterRoleBinding") or roles.get("RoleBinding")
    if role is None or binding is None:
        return
    rule = fields(next(iter(items(role.get("rules"))), None))
    subject = fields(next(iter(items(binding.get("subjects"))), None))
    verb, resource, group = (
        next((text(name) for name in items(rule.get(key))), "") for key in ("verbs", "resources", "apiGroups")
    )
    user = text(subject.get("name"))
    if text(subject.get("kind")) == "ServiceAccount":
        user = f"system:serviceaccount:{text(subject.get('namespace'))}:{user}"
    namespace = text(fields(role.get("metadata")).get("namespace"))
    scope = () if namespace else ("-A",)
    resource_name = f"{resource}.{group}" if group else resource
    command = kubectl("auth", "can-i", verb, resource_name, f"--as={user}", *scope, namespace=namespace)
    yield with_comment(command, "must print yes")


def _end_running_sync(fix: Fix, case: Case) -> str:
    """A running sync has to end before another one can start, whatever is new in Git.

    It applies the old commit and may be waiting for what the fix adds, so it is terminated.
    """
    if is_in_git(fix):
        return end_old_commit(case)
    return end_running_sync(case)


def _needs_sync(fix: Fix, case: Case) -> bool:
    """Auto-sync syncs a new commit, but does not repeat one that failed, even if the cause is fixed."""
    if is_being_deleted(case):
        return False
    if is_in_git(fix):
        return not case.is_automated
    if _adds_objects(fix, case):
        return True
    return _has_failed(case) or (is_running(case) and case.app.status.sync.status == "OutOfSync")


def _adds_objects(fix: Fix, case: Case) -> bool:
    """Does the app have objects to apply after it, of a kind that was excluded?

    Auto-sync without self-heal does not sync a commit again. Mirrors `autoSync`, Argo CD 3.6.
    """
    filters = any(edit.pointer in _FILTERS_OF_KINDS for edit in fix.edits)
    return fix.kind is FixKind.SETTINGS and filters and not case.self_heals


def _has_failed(case: Case) -> bool:
    operation = case.operation
    failed = operation is not None and operation.phase in ("Failed", "Error")
    return (failed and case.app.status.sync.status == "OutOfSync") or (operation is None and _gave_up(case))


def _gave_up(case: Case) -> bool:
    """Does a condition report a failed sync of which the status has no operation?"""
    return any(
        message.layer(LayerKind.SYNC_ATTEMPT) is not None
        and not any(isinstance(failure, AutosyncWipeRefused) for failure in message.failures)
        for message in (
            understand(condition.message)
            for condition in case.app.status.conditions
            if condition.type == "SyncError"
        )
    )


def is_in_git(fix: Fix) -> bool:
    """Is the change made where the app's manifests are?

    Permissions and projects that the app's own sync needs cannot be part of it.
    """
    if fix.kind is not FixKind.MANIFEST:
        return False
    if fix.create is None or fix.in_source:
        return True
    return not any(ref.group in _NOT_IN_APP for ref in created_refs(fix.create))


def created_refs(manifest: Object) -> tuple[Ref, ...]:
    """The object of a manifest, or all objects of a List."""
    if manifest.get("kind") == "List":
        return tuple(ref_of(fields(item)) for item in items(manifest.get("items")))
    return (ref_of(manifest),)
