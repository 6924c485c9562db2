"""Which mechanism made a field differ? Decided once, in one order, so that rules do not contradict.

1. The two values: normalization, defaults that Git has as values, tracking marks, a live autoscaler.
2. What the last-applied annotation, the history and managedFields prove: Git has changed since the sync, a
   default of the CRD, a field that Argo CD's server-side apply keeps or cannot remove, a value that
   admission rewrote, the recorded writer.
3. Without such a record, which is usual (`kubectl get -o yaml` omits managedFields): known defaults of the
   API server, fields that controllers fill in, certificates, injected elements, admission policies and
   webhooks that match the object, generated values. A deduction from absent managedFields comes after the
   known defaults.
4. What remains was changed by someone or something. With self-heal a manual change does not last, so it is
   a program (`CONTESTED`); without it, `UNKNOWN` leaves both readings open. Two readings have a name: for
   replicas `SCALED`, and in an app whose diff includes webhooks `NOT_AS_DRY_RUN` (a webhook that changes a
   dry run differently, or a later change).
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING

from whysync.argocd.diff.options import (
    Strategy,
    asks_for_server_side_apply,
    ignores_mutation_webhooks,
    strategy_for,
)
from whysync.argocd.tracking.method import TRACKING_ID_POINTER
from whysync.diagnosis.drift import Drift, HiddenBy
from whysync.diagnosis.drift.equivalent_values import (
    Equivalence,
    equivalence_of,
    list_with_duplicate_keys,
    reordered_list_of,
)
from whysync.diagnosis.drift.field_heuristics import (
    is_adjusted_resource,
    is_bound_volume,
    is_builtin,
    is_ca_bundle,
    is_filled_in_by_controller,
    is_filled_placeholder,
    is_injected,
    is_known_default,
    is_late_initialized,
    is_of_wrong_type,
    is_probable_default,
    is_replaced_by_ca_bundle,
    is_resolved_at_admission,
    is_resolved_by_trigger,
    is_set_by_webhook_owner,
    is_traffic_weight,
    is_written_by_reloader,
    looks_defaulted,
    looks_generated,
    may_be_generated_secret,
)
from whysync.diagnosis.drift.mutating_webhooks import mutating_policy, mutating_webhook
from whysync.diagnosis.drift.schemas import (
    builtin_has_field,
    crd_has_field,
    crd_of,
    default_in_schema,
    is_field_of_argocd,
    is_newer_field,
)
from whysync.diagnosis.freshness import sync_loop_of
from whysync.json_tree import Json, Missing, fields, items
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.field_writers import Writer, WriterKind, writer_of
from whysync.kubernetes.field_writers.ownership import ManagedFieldsIndex
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# Written by controllers of Kubernetes itself, never meant for Git.
_WRITTEN_BY_KUBERNETES = (
    "autoscaling.alpha.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/leader",
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "endpoints.kubernetes.io/",
    "pv.kubernetes.io/",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/selected-node",
)
# Written by a controller of a cloud or a load balancer, never meant for Git.
_WRITTEN = (
    "cloud.google.com/neg-status",
    "cloud.google.com/load-balancer-",
    "field.cattle.io/publicEndpoints",
    "ingress.kubernetes.io/backends",
    "ingress.kubernetes.io/forwarding-rule",
    "ingress.kubernetes.io/https-",
    "ingress.kubernetes.io/ssl-cert",
    "ingress.kubernetes.io/static-ip",
    "ingress.kubernetes.io/target-proxy",
    "ingress.kubernetes.io/url-map",
    "kubernetes.digitalocean.com/load-balancer-id",
    "load-balancer.hetzner.cloud/id",
    "loadbalancer.openstack.org/load-balancer-id",
    "loadbalancer.openstack.org/load-balancer-address",
    "metallb.io/ip-allocated-from-pool",
    "metallb.universe.tf/ip-allocated-from-pool",
    "networking.gke.io/last-reconcile",
    "service.beta.kubernetes.io/ibm-load-balancer-cloud-provider-enable",
    "service.kubernetes.io/ibm-ingress",
)
_NAMES_A_TIME = re.compile(
    r"([Tt]imestamp|[Tt]ime|[Dd]ate|[Uu]pdated|[Mm]odified|[Ss]ynced|[Rr]efreshed|[a-z]-at|[a-z]At)$"
)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T_ -]\d\d[:_-]?\d\d.*|1\d{9}(\d{3})?")

OWN_INSTANCE = "/metadata/labels/argocd.argoproj.io~1instance"
"""The label that the documentation proposes for application.instanceLabelKey; only Argo CD writes it."""
PRESERVE_UNKNOWN = "/spec/preserveUnknownFields"
RESTARTED_AT = "kubectl.kubernetes.io~1restartedAt"
_SERVER_SET = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_RESULT = "/status/operationState/syncResult"
_LOCAL = "/status/operationState/operation/sync/manifests"
_SOURCES = ("source", "sources")
_FREE_TEXT = frozenset({"args", "command", "data", "env", "image", "metadata", "name", "value"})
_ENTRIES = frozenset({"annotations", "labels", "data", "matchLabels", "nodeSelector"})


class Mechanism(StrEnum):
    SERVER_SET_IN_GIT = "Git holds what the server sets"
    TRACKING = "the mark by which Argo CD knows its objects"
    SAME_VALUE = "the same value, written differently"
    REORDERED = "the same elements in another order"
    MERGED = "elements of one name, merged into one"
    LAST_APPLIED = "only kubectl's own annotation"
    OLD_API = "an API version that the cluster does not serve any more"
    AUTOSCALED = "an autoscaler's number"
    NOT_SYNCED_YET = "Git has moved on"
    BY_HAND = "written with kubectl or a console"
    BY_OTHER_TOOL = "written by another deployment tool"
    BY_CONTROLLER = "written by a controller"
    INJECTED = "put in by a webhook"
    NOT_AS_DRY_RUN = "not what a dry run that includes webhooks returns"
    API_DEFAULT = "filled in by the API server"
    CRD_DEFAULT = "filled in from the CRD's schema"
    GENERATED = "rendered differently each time"
    DROPPED = "in Git, and not kept by the cluster"
    CONVERTED = "stored in another version of its schema"
    OMITTED_IN_CRD = "a field of a CRD that the API server does not store"
    AGGREGATED = "rules that the aggregation controller fills in"
    CLOUD_ANNOTATION = "an annotation that a cloud controller writes"
    TIMESTAMP = "a time that a controller writes"
    KEPT = "not declared any more, and still owned by Argo CD's server-side apply"
    LEFT_OVER = "owned by a former or another manager, so that a server-side apply does not remove it"
    SCALED = "scaled by an autoscaler or by hand"
    CONTESTED = "changed again after self-heal has synced it, by an unknown program"
    ENCODING = "a Secret's value given twice, or as plain text"
    IGNORED_ON_ONE_SIDE = "the same on both sides, and an ignore rule removes it from one of them"
    UNKNOWN = "not known"


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
    mechanism = _in_the_value(case, drift) or _proven(case, drift) or _suggested(case, drift)
    if mechanism is Mechanism.INJECTED and drift.ref.kind.endswith("WebhookConfiguration"):
        return Mechanism.BY_CONTROLLER  # the API server calls no webhook for a webhook configuration
    return mechanism


def _in_the_value(case: Case, drift: Drift) -> Mechanism | None:
    parts = pointers.split(drift.pointer)
    if _is_ignored_on_one_side(drift):
        return Mechanism.IGNORED_ON_ONE_SIDE
    if drift.pointer == "/apiVersion":
        return Mechanism.OLD_API if is_builtin(drift.ref) else Mechanism.CONVERTED
    of_crd = drift.ref.kind == "CustomResourceDefinition"
    if of_crd and drift.pointer == PRESERVE_UNKNOWN and drift.only_git:
        return Mechanism.OMITTED_IN_CRD
    if drift.ref.kind == "ClusterRole" and parts[:1] == ("rules",) and _aggregates(drift):
        return Mechanism.AGGREGATED
    if drift.ref.kind == "Secret" and _is_encoding(drift, parts):
        return Mechanism.ENCODING
    if not drift.only_live and (parts[:1] == ("status",) or _is_server_set(parts)):
        return Mechanism.SERVER_SET_IN_GIT
    is_label = case.may_track_by_label and drift.pointer == case.argocd.instance_label_pointer
    if drift.pointer in (TRACKING_ID_POINTER, OWN_INSTANCE) or is_label:
        return Mechanism.TRACKING
    if drift.pointer == LAST_APPLIED_POINTER:
        return Mechanism.LAST_APPLIED
    if drift.last_key == "replicas" and case.autoscaler_of(drift.ref) is not None:
        return Mechanism.AUTOSCALED
    if reordered_list_of(drift.desired.body, drift.live.body, drift.pointer) is not None:
        return Mechanism.REORDERED
    if list_with_duplicate_keys(drift.desired.body, drift.live.body, drift.pointer) is not None:
        return Mechanism.MERGED
    if drift.only_live and parts[:1] == ("metadata",) and drift.live_value in ({}, []):
        return Mechanism.SAME_VALUE
    if drift.only_live and _holds_only_null(drift.live_value):
        return Mechanism.SAME_VALUE
    if drift.only_live or _is_lost_entry(case, drift, parts):
        return None
    same = equivalence_of(drift.desired_value, drift.live_value)
    if same is Equivalence.CASE and not _is_word_of_schema(parts):
        return None
    return Mechanism.SAME_VALUE if same else None


def _is_ignored_on_one_side(drift: Drift) -> bool:
    """Do the objects agree, while the comparison sees the field on one side only?

    An ignore rule reads each side by itself: an expression that depends on another field, such as a label
    that only live has, removes the field from that side.
    """
    desired, live = drift.desired.at(drift.pointer), drift.live.at(drift.pointer)
    return (drift.only_git or drift.only_live) and not isinstance(live, Missing) and desired == live


def _is_word_of_schema(parts: tuple[str, ...]) -> bool:
    """Not the content of a file, an environment variable, a command or a name, whose case people choose."""
    return parts[:1] == ("spec",) and _FREE_TEXT.isdisjoint(parts)


def _holds_only_null(value: Json | Missing) -> bool:
    """`{metadata: {creationTimestamp: null}}`: a Go program wrote a struct without content."""
    if isinstance(value, dict):
        return bool(value) and all(_holds_only_null(below) for below in value.values())
    return value is None


def _is_lost_entry(case: Case, drift: Drift, parts: tuple[str, ...]) -> bool:
    """The API server leaves out an empty field, but keeps an empty element of a list or entry of a map.

    `kubectl apply` sends a null as a request to remove the entry. Argo CD compares it as empty text.
    """
    declared = case.desired_of(drift.key)
    is_null = declared is not None and declared.at(drift.pointer) is None
    if not drift.only_git or drift.desired_value is None or is_null:
        return False
    return parts[-1].isdecimal() or (len(parts) >= 2 and parts[-2] in _ENTRIES)


def _aggregates(drift: Drift) -> bool:
    return any(side.body.get("aggregationRule") is not None for side in (drift.desired, drift.live))


def _is_encoding(drift: Drift, parts: tuple[str, ...]) -> bool:
    """The API server turns `stringData` into `data`; a key that stands in both has two values in Git."""
    if parts[:1] == ("stringData",):
        return not drift.only_live
    both = fields(drift.desired.body.get("data")).keys() & fields(drift.desired.body.get("stringData")).keys()
    return parts[:1] == ("data",) and len(parts) == 2 and parts[1] in both


def _is_server_set(parts: tuple[str, ...]) -> bool:
    return len(parts) == 2 and parts[0] == "metadata" and parts[1] in _SERVER_SET


def _proven(case: Case, drift: Drift) -> Mechanism | None:
    """What the last-applied annotation, the history and managedFields leave no doubt about."""
    writer = drift.writer
    if changed_in_git_since_sync(case, drift) and (writer is None or writer.kind is WriterKind.ARGOCD):
        return Mechanism.GENERATED if rendered_differently(case, drift) else Mechanism.NOT_SYNCED_YET
    if _is_of_schema(case, drift, writer):
        return Mechanism.CRD_DEFAULT
    if _is_kept(drift, writer):
        return Mechanism.KEPT
    if _is_left_over(case, drift, writer):
        return Mechanism.LEFT_OVER
    if _is_rewritten(case, drift, writer):
        return Mechanism.INJECTED
    if _is_removed_by_apply(drift):
        return Mechanism.BY_HAND
    if writer is None or writer.kind in (WriterKind.ARGOCD, WriterKind.UNKNOWN, WriterKind.API_SERVER):
        return None
    if writer.kind in _CONTROLLERS and _annotation(drift):
        return _annotated(drift, by_controller=True) or Mechanism.BY_CONTROLLER
    if writer.kind in _BY_HAND:
        return Mechanism.BY_HAND
    if writer.kind in _OTHER_TOOLS:
        return Mechanism.BY_OTHER_TOOL
    # What keeps a caBundle fresh writes it later, by itself, whatever else it does at admission.
    injected = writer.kind is WriterKind.WEBHOOK and not is_ca_bundle(drift)
    return Mechanism.INJECTED if injected else Mechanism.BY_CONTROLLER


def _is_of_schema(case: Case, drift: Drift, writer: Writer | None) -> bool:
    """In a list that is applied as a whole, even the schema's defaults bear the name of who applied it."""
    by_argocd = writer is None or writer.kind is WriterKind.ARGOCD
    return (
        drift.only_live
        and by_argocd
        and not is_builtin(drift.ref)
        and default_in_schema(case, drift) is not None
    )


def _is_rewritten(case: Case, drift: Drift, writer: Writer | None) -> bool:
    """Argo CD sent Git's value, nobody has written since, and another value is there: admission put it in."""
    if writer is None or writer.kind is not WriterKind.ARGOCD or drift.only_live or drift.only_git:
        return False
    applied = _last_applied(drift)
    if isinstance(applied, Missing):
        covered = mutating_webhook(case, drift.ref) is not None
        if covered:
            return synced_at_current_revision(case)
        return synced_from_current_source(case) and not (
            looks_generated(drift) or may_be_generated_secret(case, drift)
        )
    return pointers.resolve(applied, drift.pointer) == drift.desired_value


def _is_removed_by_apply(drift: Drift) -> bool:
    """Git declares an entry that the live object lacks, and only `kubectl apply` wrote it."""
    if not drift.only_git:
        return False
    managers = [
        writer.kind
        for writer in ManagedFieldsIndex(drift.live.body).managers
        if writer.subresource != "status"
    ]
    return bool(managers) and all(kind is WriterKind.KUBECTL_APPLY for kind in managers)


def _is_kept(drift: Drift, writer: Writer | None) -> bool:
    """Git leaves it out, and the one who owns it is Argo CD's own server-side apply."""
    return (
        drift.only_live
        and writer is not None
        and writer.kind is WriterKind.ARGOCD
        and writer.operation == "Apply"
        # a webhook's change to an apply is recorded under the applier's name
        and not is_injected(drift)
    )


def in_atomic_list(drift: Drift) -> bool:
    """Is the field in a list with one owner as a whole? That owner then owns what the server fills in.

    An element past the end of a list has an owner only if the list is owned as a whole.
    """
    parts = pointers.split(drift.pointer)
    position = next((index for index, part in enumerate(parts) if pointers.index_of(part) is not None), None)
    if position is None:
        return False
    list_parts = parts[:position]
    past_end = pointers.join((*list_parts, str(len(items(drift.live.at(pointers.join(list_parts)))))))
    return writer_of(drift.live.body, past_end) is not None


def _is_left_over(case: Case, drift: Drift, writer: Writer | None) -> bool:
    """A server-side apply removes only what Argo CD's own Apply owns; here kubectl or an earlier
    client-side apply of Argo CD owns what Git leaves out."""
    if not drift.only_live or writer is None or not applies_server_side(case, drift.desired):
        return False
    return writer.kind is WriterKind.KUBECTL_APPLY or (
        writer.kind is WriterKind.ARGOCD and writer.operation == "Update"
    )


def applies_server_side(case: Case, desired: Manifest) -> bool:
    return case.has_sync_option("ServerSideApply=true") or asks_for_server_side_apply(desired.body)


def _annotation(drift: Drift) -> str:
    """The annotation's name, where the field is one of the object's own annotations."""
    parts = pointers.split(drift.pointer)
    return parts[2] if len(parts) == 3 and parts[:2] == ("metadata", "annotations") else ""


def _annotated(drift: Drift, *, by_controller: bool = False) -> Mechanism | None:
    """A time on both sides may come from a template, unless a controller is known to write it."""
    name = _annotation(drift)
    if name.startswith(_WRITTEN_BY_KUBERNETES):
        return Mechanism.BY_CONTROLLER
    if name and is_written_by_cloud(name):
        return Mechanism.CLOUD_ANNOTATION
    if (
        name
        and is_instant(name, drift.live_value)
        and (by_controller or not is_instant(name, drift.desired_value))
    ):
        return Mechanism.TIMESTAMP
    return None


def changed_in_git_since_sync(case: Case, drift: Drift) -> bool:
    """Has Git changed this field since the last sync that succeeded?

    The last-applied annotation tells it for the field; else the revisions tell it for the whole app.
    """
    applied = _last_applied(drift)
    if not isinstance(applied, Missing) and _was_removed_earlier(case, drift):
        return False
    if not isinstance(applied, Missing) and not _applied_by_another(drift):
        before = pointers.resolve(applied, drift.pointer)
        if not isinstance(before, Missing) or drift.only_git:
            return before != drift.desired_value
    return has_unsynced_revision(case)


def _was_removed_earlier(case: Case, drift: Drift) -> bool:
    """Git does not declare the field at the revision that was synced: the annotation is of an older apply."""
    declared = case.desired_of(drift.key)
    undeclared = declared is not None and isinstance(declared.at(drift.pointer), Missing)
    return undeclared and synced_at_current_revision(case)


def rendered_differently(case: Case, drift: Drift) -> bool:
    """One commit and one source, and yet not what the last sync, which applied all of it, had rendered."""
    # what another app applied, or what Argo CD did not render, tells nothing
    return case.desired_is_marked and not _applied_by_another(drift) and synced_from_current_source(case)


def synced_from_current_source(case: Case) -> bool:
    """The last sync succeeded, applied everything, and took it from the very commit and source of now."""
    operation = case.operation
    if has_unsynced_revision(case) or operation is None or operation.phase != "Succeeded":
        return False
    sync = operation.operation.sync
    if sync is None or sync.resources or not isinstance(case.application.at(_LOCAL), Missing):
        return False  # it was synced in part, or what was applied did not come from Git
    pairs = (
        (case.application.at(f"/spec/{name}"), case.application.at(f"{_RESULT}/{name}")) for name in _SOURCES
    )
    return any(not isinstance(now, Missing) and now == then for now, then in pairs)


def synced_at_current_revision(case: Case) -> bool:
    """Did the last sync succeed, at the revision that Argo CD compares with now?"""
    operation = case.operation
    return operation is not None and operation.phase == "Succeeded" and not has_unsynced_revision(case)


def _applied_by_another(drift: Drift) -> bool:
    """The mark on the live object is another Application's: what was applied last was not ours."""
    found, wanted = drift.live.at(TRACKING_ID_POINTER), drift.desired.at(TRACKING_ID_POINTER)
    return isinstance(found, str) and isinstance(wanted, str) and found != wanted


def has_unsynced_revision(case: Case) -> bool:
    """Is the revision that was compared another one than the last that was synced?"""
    revision = case.app.status.sync.revision or "".join(case.app.status.sync.revisions)
    synced = [entry.revision or "".join(entry.revisions) for entry in case.app.status.history]
    operation = case.operation
    if operation is not None and operation.phase == "Succeeded" and operation.sync_result is not None:
        synced.append(operation.sync_result.revision or "".join(operation.sync_result.revisions))
    return bool(revision and synced and synced[-1] and synced[-1] != revision)


def _last_applied(drift: Drift) -> Json | Missing:
    text = drift.live.at(LAST_APPLIED_POINTER)
    if not isinstance(text, str):
        return Missing()
    try:
        value: Json = json.loads(text)
    except ValueError:
        return Missing()
    return value


def _suggested(case: Case, drift: Drift) -> Mechanism:
    """Nothing is recorded about the field: what its kind and its values suggest."""
    if drift.pointer.endswith(f"/annotations/{RESTARTED_AT}") or (
        isinstance(drift.live_value, dict) and "kubectl.kubernetes.io/restartedAt" in drift.live_value
    ):
        return Mechanism.BY_HAND
    return _known_field(case, drift) or _deduced(case, drift) or _remaining(case, drift)


def _known_field(case: Case, drift: Drift) -> Mechanism | None:
    """Fields of which it is known who writes them: the API server, controllers, clouds, admission."""
    if is_known_default(drift):
        return Mechanism.API_DEFAULT
    if is_adjusted_resource(drift) or is_resolved_at_admission(drift):
        return Mechanism.INJECTED
    if not drift.only_git and mutating_policy(case, drift.ref, drift.pointer) is not None:
        return Mechanism.INJECTED
    if is_traffic_weight(drift) or is_resolved_by_trigger(drift):
        return Mechanism.BY_CONTROLLER
    if is_filled_in_by_controller(drift) or is_late_initialized(drift) or is_set_by_webhook_owner(drift):
        return Mechanism.BY_CONTROLLER
    if is_replaced_by_ca_bundle(drift) or is_written_by_reloader(drift) or is_filled_placeholder(drift):
        return Mechanism.BY_CONTROLLER
    if drift.last_key == "replicas" and _has_autoscaler_row(case, drift):
        return Mechanism.BY_CONTROLLER
    if is_ca_bundle(drift):
        return Mechanism.GENERATED if _rendered_certificate(drift) else Mechanism.BY_CONTROLLER
    if is_injected(drift):
        # what a webhook changes is recorded under the name of whoever sent the request
        return Mechanism.BY_CONTROLLER if _is_of_a_stranger(case, drift) else Mechanism.INJECTED
    return _annotated(drift)


def _deduced(case: Case, drift: Drift) -> Mechanism | None:
    """What the way of comparing, admission and the shape of the values leave as the likely reading."""
    may_be_default = not _is_setting_of_argocd(drift) and not _lacks_default(case, drift)
    if may_be_default and is_probable_default(drift):
        return Mechanism.CRD_DEFAULT
    if _kept_by_deduction(case, drift):
        return Mechanism.KEPT
    if looks_generated(drift):
        return Mechanism.GENERATED
    if compares_with_webhooks(case, drift.desired):
        return None  # the API server's own prediction: its defaults and dropped fields do not differ
    if may_be_generated_secret(case, drift):
        return Mechanism.GENERATED
    if drift.only_live and is_bound_volume(drift):
        return Mechanism.BY_CONTROLLER
    if may_be_default and looks_defaulted(drift):
        return Mechanism.API_DEFAULT if is_builtin(drift.ref) else Mechanism.CRD_DEFAULT
    dropped = _is_dropped(case, drift) if drift.only_git else _was_never_filled_in(drift)
    return Mechanism.DROPPED if dropped else None


def _lacks_default(case: Case, drift: Drift) -> bool:
    """The CRD is in the facts, and its schema has no default for this field: then it filled in nothing."""
    if is_builtin(drift.ref) or crd_of(case, drift.ref) is None:
        return False
    return default_in_schema(case, drift) is None and mutating_webhook(case, drift.ref) is None


def _is_setting_of_argocd(drift: Drift) -> bool:
    """The schemas of Argo CD's own kinds have no defaults: such a value was set, in its UI for example."""
    return is_field_of_argocd(drift.ref, drift.pointer) and drift.live_value not in ("", [], {}, None)


def _remaining(case: Case, drift: Drift) -> Mechanism:
    """Someone or something changed it."""
    if _is_of_a_stranger(case, drift):
        return Mechanism.BY_CONTROLLER
    if sync_loop_of(case) is not None:
        return Mechanism.UNKNOWN  # the loop is the finding
    if drift.pointer == "/spec/replicas":
        return Mechanism.SCALED
    if compares_with_webhooks(case, drift.desired):
        return Mechanism.INJECTED if mutating_webhook(case, drift.ref) else Mechanism.NOT_AS_DRY_RUN
    if case.self_heals and synced_at_current_revision(case):
        by_argocd = drift.writer is not None and drift.writer.kind is WriterKind.ARGOCD
        admitted = by_argocd or mutating_webhook(case, drift.ref) is not None
        return Mechanism.INJECTED if admitted else Mechanism.CONTESTED
    return Mechanism.UNKNOWN


def _is_of_a_stranger(case: Case, drift: Drift) -> bool:
    """Its manager is recorded, and is none of the known tools of people: then it is some program's work.

    Where Argo CD fights with it, the fight is the better story.
    """
    writer = drift.writer
    strange = writer is not None and writer.kind is WriterKind.UNKNOWN and bool(writer.manager)
    return strange and sync_loop_of(case) is None


def _has_autoscaler_row(case: Case, drift: Drift) -> bool:
    """An autoscaler of the same name is part of the app, though its object is not at hand."""
    return any(
        row.name == drift.ref.name and (row.kind.endswith("Autoscaler") or row.kind == "ScaledObject")
        for row in case.app.status.resources
    )


def _was_never_filled_in(drift: Drift) -> bool:
    """Argo CD assumes a default, and the live object has no such field: its API server does not know it."""
    parts = pointers.split(drift.pointer)
    around = drift.live.at(pointers.join(parts[:-1]))
    return (
        is_builtin(drift.ref) and not drift.only_live and isinstance(around, dict) and parts[-1] not in around
    )


def _is_dropped(case: Case, drift: Drift) -> bool:
    """The schema does not know it; for a custom resource without its CRD at hand, it may be so.

    A schema drops fields, never an element of a list that it knows.
    """
    parts = pointers.split(drift.pointer)
    if parts[-1].isdecimal():
        return False
    if crd_of(case, drift.ref) is None and is_field_of_argocd(drift.ref, drift.pointer):
        return False
    if drift.ref.kind == "CustomResourceDefinition" and "openAPIV3Schema" in parts:
        return True  # an older API server does not know all that a schema may declare
    if is_of_wrong_type(drift):
        return True
    known = builtin_has_field(drift.ref, drift.pointer)
    if known is not None:
        return not known or is_newer_field(drift)
    return not drift.pointer.startswith("/metadata/") and not crd_has_field(case, drift.ref, drift.pointer)


def compares_with_webhooks(case: Case, desired: Manifest) -> bool:
    """Is the object compared with a dry run that includes the changes of webhooks?

    Argo CD then compares the live object with what the API server would store now. A webhook still shows if
    it changes nothing in a dry run (`sideEffects: NoneOnDryRun`) or writes another value each time. Mirrors
    gitops-engine `serverSideDiff` without `removeWebhookMutation`, Argo CD 3.6.
    """
    strategy = strategy_for(
        case.application.annotations,
        case.app.spec.sync_policy.sync_options,
        server_side_diff=case.argocd.server_side_diff,
        target_annotations=desired.annotations,
    )
    return strategy is Strategy.SERVER_SIDE and not ignores_mutation_webhooks(case.application.annotations)


def _kept_by_deduction(case: Case, drift: Drift) -> bool:
    """Server-side apply takes away only what it owns: what others own would be no difference at all.

    That holds where Argo CD compares in that way and the live object came without its managedFields.
    """
    if not drift.only_live or drift.live.meta.get("managedFields"):
        return False
    if drift.hidden_by is HiddenBy.REPORTED_SYNCED:
        return False  # Argo CD shows no difference, so it does not own the field
    strategy = strategy_for(
        case.application.annotations,
        case.app.spec.sync_policy.sync_options,
        server_side_diff=case.argocd.server_side_diff,
        target_annotations=drift.desired.annotations,
    )
    return strategy is not Strategy.LEGACY and ignores_mutation_webhooks(case.application.annotations)


def _rendered_certificate(drift: Drift) -> bool:
    """A chart that makes its own CA renders it into webhook configurations; a CRD is a static file."""
    wanted = drift.desired_value
    return (
        isinstance(wanted, str)
        and wanted.strip() not in ("", "Cg==", "Cg", "\n")
        and drift.ref.kind.endswith("WebhookConfiguration")
    )


def is_written_by_cloud(annotation: str) -> bool:
    """Do controllers of clouds and load balancers write it? Settings for them have other names."""
    return annotation.startswith(_WRITTEN)


def is_instant(annotation: str, value: object) -> bool:
    """The name speaks of a time, and the value is one."""
    name = annotation.rpartition("/")[2]
    return isinstance(value, str) and bool(_NAMES_A_TIME.search(name)) and bool(_INSTANT.fullmatch(value))
