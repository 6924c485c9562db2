"""By which mechanism does this field differ? Decided once, in one order, so that rules do not contradict.

The order goes from what can be seen in the value itself, over what managedFields and the last-applied
annotation prove, to what the shape of the field suggests. Where nothing tells, the answer is `UNTOLD`,
and the difference stays unexplained.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING

from whysync.contracts import pointer as pointers
from whysync.contracts.tree import Json, Missing
from whysync.diagnosis.meaning import same_but
from whysync.diagnosis.shape import (
    is_builtin,
    is_ca_bundle,
    is_filled_in_by_controller,
    is_flipped_by_its_webhook,
    is_injected,
    is_known_default,
    is_late_initialised,
    looks_defaulted,
    looks_generated,
)
from whysync.semantics.writers import WriterKind

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.drift import Drift

LAST_APPLIED = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"
TRACKING_ID = "/metadata/annotations/argocd.argoproj.io~1tracking-id"
INSTANCE = "/metadata/labels/app.kubernetes.io~1instance"
RESTARTED_AT = "kubectl.kubernetes.io~1restartedAt"
_SERVER_SET = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")


class Mechanism(StrEnum):
    SERVER_SET_IN_GIT = "Git holds what the server sets"
    TRACKING = "the mark by which Argo CD knows its objects"
    SAME_VALUE = "the same value, written differently"
    LAST_APPLIED = "only kubectl's own annotation"
    OLD_API = "an API version that the cluster does not serve any more"
    AUTOSCALED = "an autoscaler's number"
    NOT_SYNCED_YET = "Git has moved on"
    BY_HAND = "written with kubectl or a console"
    BY_OTHER_TOOL = "written by another deployment tool"
    BY_CONTROLLER = "written by a controller"
    INJECTED = "put in by a webhook"
    API_DEFAULT = "filled in by the API server"
    CRD_DEFAULT = "filled in from the CRD's schema"
    GENERATED = "rendered differently each time"
    DROPPED = "in Git, and not kept by the cluster"
    UNTOLD = "nothing tells"


_BY_HAND = frozenset(
    {
        WriterKind.KUBECTL_EDIT,
        WriterKind.KUBECTL_APPLY,
        WriterKind.KUBECTL_SCALE,
        WriterKind.KUBECTL_PATCH,
        WriterKind.KUBECTL_OTHER,
        WriterKind.CONSOLE,
    }
)
_OTHER_TOOLS = frozenset({WriterKind.HELM, WriterKind.TERRAFORM, WriterKind.OTHER_GITOPS})
_CONTROLLERS = frozenset({WriterKind.CONTROLLER, WriterKind.AUTOSCALER, WriterKind.OPERATOR})


def mechanism_of(case: Case, drift: Drift) -> Mechanism:
    return _in_the_value(case, drift) or _proven(case, drift) or _suggested(case, drift)


def _in_the_value(case: Case, drift: Drift) -> Mechanism | None:
    parts = pointers.split(drift.pointer)
    if drift.pointer == "/apiVersion":
        return Mechanism.OLD_API
    if not drift.only_live and (parts[:1] == ("status",) or _is_server_set(parts)):
        return Mechanism.SERVER_SET_IN_GIT
    if drift.pointer in (TRACKING_ID, INSTANCE):
        return Mechanism.TRACKING
    if drift.pointer == LAST_APPLIED:
        return Mechanism.LAST_APPLIED
    if drift.last_key == "replicas" and case.autoscaler_of(drift.ref) is not None:
        return Mechanism.AUTOSCALED
    same = not drift.only_live and same_but(drift.wanted, drift.found)
    return Mechanism.SAME_VALUE if same else None


def _is_server_set(parts: tuple[str, ...]) -> bool:
    return len(parts) == 2 and parts[0] == "metadata" and parts[1] in _SERVER_SET


def _proven(case: Case, drift: Drift) -> Mechanism | None:
    """What the last-applied annotation, the history and managedFields leave no doubt about."""
    writer = drift.writer
    if moved_in_git(case, drift) and (writer is None or writer.kind is WriterKind.ARGOCD):
        return Mechanism.NOT_SYNCED_YET
    if writer is None or writer.kind in (WriterKind.ARGOCD, WriterKind.UNKNOWN, WriterKind.API_SERVER):
        return None
    if writer.kind in _BY_HAND:
        return Mechanism.BY_HAND
    if writer.kind in _OTHER_TOOLS:
        return Mechanism.BY_OTHER_TOOL
    return Mechanism.INJECTED if writer.kind is WriterKind.WEBHOOK else Mechanism.BY_CONTROLLER


def moved_in_git(case: Case, drift: Drift) -> bool:
    """Has Git changed this field since the last sync that succeeded?

    The last-applied annotation tells it for the field; else the revisions tell it for the whole app.
    """
    applied = _last_applied(drift)
    if not isinstance(applied, Missing):
        before = pointers.resolve(applied, drift.pointer)
        if not isinstance(before, Missing) or drift.only_git:
            return before != drift.wanted
    return behind_git(case)


def behind_git(case: Case) -> bool:
    """Is the revision that was compared another one than the last that was synced?"""
    revision = case.app.status.sync.revision or "".join(case.app.status.sync.revisions)
    synced = [entry.revision or "".join(entry.revisions) for entry in case.app.status.history]
    operation = case.operation
    if operation is not None and operation.phase == "Succeeded" and operation.sync_result is not None:
        synced.append(operation.sync_result.revision or "".join(operation.sync_result.revisions))
    return bool(revision and synced and synced[-1] and synced[-1] != revision)


def _last_applied(drift: Drift) -> Json | Missing:
    text = drift.live.at(LAST_APPLIED)
    if not isinstance(text, str):
        return Missing()
    try:
        value: Json = json.loads(text)
    except ValueError:
        return Missing()
    return value


def _suggested(case: Case, drift: Drift) -> Mechanism:
    """No proof at hand: what the field and the values look like."""
    if drift.pointer.endswith(f"/annotations/{RESTARTED_AT}") or (
        isinstance(drift.found, dict) and "kubectl.kubernetes.io/restartedAt" in drift.found
    ):
        return Mechanism.BY_HAND
    if is_filled_in_by_controller(drift) or is_late_initialised(drift) or is_flipped_by_its_webhook(drift):
        return Mechanism.BY_CONTROLLER
    if is_ca_bundle(drift):
        return Mechanism.GENERATED if _rendered_certificate(drift) else Mechanism.BY_CONTROLLER
    if is_injected(drift):
        return Mechanism.INJECTED
    if is_known_default(drift):
        return Mechanism.API_DEFAULT
    if looks_generated(case, drift):
        return Mechanism.GENERATED
    if looks_defaulted(drift):
        return Mechanism.API_DEFAULT if is_builtin(drift.ref) else Mechanism.CRD_DEFAULT
    return Mechanism.DROPPED if drift.only_git and not is_builtin(drift.ref) else Mechanism.UNTOLD


def _rendered_certificate(drift: Drift) -> bool:
    """A chart that makes its own CA renders it into webhook configurations; a CRD is a static file."""
    wanted = drift.wanted
    return (
        isinstance(wanted, str)
        and wanted.strip() not in ("", "Cg==", "Cg", "\n")
        and drift.ref.kind.endswith("WebhookConfiguration")
    )
