"""Which program created an object that Git does not declare: evidence in the live object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.tracking.method import TRACKING_ID, TRACKING_ID_POINTER, TrackingId
from whysync.diagnosis.drift.mechanism import OWN_INSTANCE
from whysync.diagnosis.evidence import Evidence, cite
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.field_writers import WriterKind
from whysync.kubernetes.field_writers.ownership import ManagedFieldsIndex
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.queries.producers import creates_object
from whysync.queries.sync_options import has_option, keeps_from_pruning

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# Controllers of Kubernetes create these; they are not declared in Git.
_CREATED_BY_KUBERNETES = frozenset(
    {
        ("discovery.k8s.io", "EndpointSlice"),
        ("", "Endpoints"),
        ("", "Event"),
        ("apps", "ReplicaSet"),
        ("apps", "ControllerRevision"),
        ("coordination.k8s.io", "Lease"),
    }
)
# Labels and annotations with which programs mark what they created, copied or own.
_OWNER_LABEL = re.compile(
    r"claim-(name|namespace|uid)|(^|[./-])own(er|ed)|created-by|generate|replicat|reflect|inherited|copied|cloned"
    r"|(^|[./-])(origin|parent|synced-from|source-(name|namespace|uid)|controller-uid)|^operators\.coreos\.com/|^olm\.|^velero\.io/restore-name"
)
_RELEASE = ("name", "namespace")
_MANAGED_BY = "app.kubernetes.io/managed-by"
_DEPLOYERS = frozenset({"helm", "argocd", "argo-cd", "kustomize", "kubectl", "tiller", ""})
# The alphabet of the suffix that the API server generates for `generateName`: no vowels.
_SUFFIX = re.compile(r"-(?=[a-z]*\d)[bcdfghjklmnpqrstvwxz2456789]{5}")
_ORDINAL = re.compile(r"-\d{1,4}$")
_SECRETS = {
    "kubernetes.io/service-account-token": "Kubernetes creates such tokens for ServiceAccounts",
    "kubernetes.io/dockercfg": "OpenShift creates such Secrets for ServiceAccounts",
    "helm.sh/release.v1": "Helm stores its releases in such Secrets",
}


class Creator(msgspec.Struct, frozen=True, kw_only=True):
    """`reason` completes "it was never in Git: …"."""

    reason: str
    evidence: tuple[Evidence, ...] = ()
    certain: bool = True

    def cites(self, pointer: str) -> bool:
        return any(evidence.pointer == pointer for evidence in self.evidence)


def creator_of(case: Case, row: ResourceRow) -> Creator | None:
    """`None` if nothing shows that another program created it: then Argo CD may have."""
    live = case.live_of(row.key)
    if live is None:
        return _by_name(case, row) or _from_custom_resource(case, row) or _comes_back(case, row, live)
    if was_applied(live):
        return None
    marks = (
        _owner(live),
        _secret(live),
        copied_tracking_id(live),
        _release(live),
        _manager(live),
        _mark(live),
    )
    known = next((mark for mark in marks if mark is not None), None) or _by_name(case, row)
    return (
        known or _from_custom_resource(case, row) or _not_applied(case, live) or _comes_back(case, row, live)
    )


def was_applied(live: Manifest) -> bool:
    """Was the live object applied by Argo CD, or from a file?"""
    ledger = ManagedFieldsIndex(live.body)
    return LAST_APPLIED in live.annotations or any(w.kind is WriterKind.ARGOCD for w in ledger.managers)


def _from_custom_resource(case: Case, row: ResourceRow) -> Creator | None:
    """A custom resource of the app from which a controller creates an object of this kind and name."""
    for candidate in case.app.status.resources:
        if candidate.requires_pruning or candidate.namespace != row.namespace:
            continue
        known = case.live_of(candidate.key) or case.desired_of(candidate.key)
        if creates_object(known or _bare(candidate), row.kind, row.name):
            return Creator(
                reason=f"the controller of {candidate.kind} {candidate.name} creates it",
                evidence=(case.cited_row(candidate, says="the custom resource that it is created from"),),
                certain=known is not None,
            )
    return None


def _bare(row: ResourceRow) -> Manifest:
    """What the row alone tells of the object: its kind and its name."""
    ref = row.ref
    return Manifest(
        {
            "apiVersion": f"{ref.group}/{ref.version}" if ref.group else ref.version,
            "kind": ref.kind,
            "metadata": {"name": ref.name, "namespace": ref.namespace or ""},
        },
        role=Role.LIVE,
    )


def _not_applied(case: Case, live: Manifest) -> Creator | None:
    """It has the app's tracking label, but not the annotation that a client-side apply writes.

    `Replace=true` and server-side apply do not write it. A tracking id that names the object itself is
    written only by Argo CD.
    """
    labels = (case.argocd.instance_label_pointer, OWN_INSTANCE)
    pointer = next((label for label in labels if live.at(label) == case.app.name), "")
    if not pointer or not case.may_track_by_label or TRACKING_ID in live.annotations:
        return None
    options = ("ServerSideApply=true", "Replace=true")
    if any(case.has_sync_option(option) or has_option(live, option) for option in options):
        return None
    elsewhere = live.ref.namespace not in ("", case.destination_namespace)
    return Creator(
        reason="it has the app's tracking label, but not the last-applied annotation of a sync: "
        + (
            f"another release or app of that name is in namespace {live.ref.namespace}"
            if elsewhere
            else "a controller copied the label from an object of the app"
        ),
        evidence=(cite(live, pointer, says="why Argo CD counts it to an app"),),
        certain=False,
    )


def _comes_back(case: Case, row: ResourceRow, live: Manifest | None) -> Creator | None:
    """Automatic pruning would have deleted it: with the commit that removed it from Git."""
    if any(result.key == row.key and result.status == "PruneSkipped" for result in case.results):
        return None
    operation = case.operation
    open_operation = operation is not None and operation.phase not in ("", "Succeeded")
    if not case.prunes or open_operation or case.synced_recently or case.app.status.conditions:
        return None
    if live is not None and (live.meta.get("deletionTimestamp") or keeps_from_pruning(live.body)):
        return None
    if case.has_sync_option("Prune=false") or case.has_sync_option("Prune=confirm"):
        return None
    return Creator(
        reason="automatic pruning is on, and it is still there or there again",
        evidence=(cite(case.application, "/spec/syncPolicy/automated", says="pruning is automatic"),),
        certain=False,
    )


def _by_name(case: Case, row: ResourceRow) -> Creator | None:
    """What the kind and the name suggest; works without the live object."""
    if (row.group, row.kind) in _CREATED_BY_KUBERNETES:
        return Creator(reason=f"Kubernetes creates every {row.kind}", certain=False)
    if row.kind == "PersistentVolumeClaim":
        for candidate in case.app.status.resources:
            pattern = rf".+-{re.escape(candidate.name)}-\d+"
            if candidate.kind == "StatefulSet" and re.fullmatch(pattern, row.name):
                return Creator(
                    reason=f"StatefulSet {candidate.name} creates it from its volumeClaimTemplates",
                    evidence=(case.cited_row(candidate, says="the claim is named after it"),),
                )
        if _ORDINAL.search(row.name):
            return Creator(reason="its name is that of a StatefulSet's claim", certain=False)
    if row.kind == "Pod" and _ORDINAL.search(row.name):
        return Creator(reason="its name is that of a StatefulSet's Pod", certain=False)
    if row.name.isdecimal() or _SUFFIX.search(row.name[-6:]):
        return Creator(reason="its name looks generated", certain=False)
    return None


def _owner(live: Manifest) -> Creator | None:
    owner = fields(next(iter(items(live.meta.get("ownerReferences"))), None))
    if not owner:
        return None
    return Creator(
        reason=f"{text(owner.get('kind'))} {text(owner.get('name'))} owns it, and its controller created it",
        evidence=(cite(live, "/metadata/ownerReferences/0", says="its owner"),),
    )


def _mark(live: Manifest) -> Creator | None:
    for field, entries in (("annotations", live.annotations), ("labels", live.labels)):
        for name, value in entries.items():
            is_other_tool = name == _MANAGED_BY and text(value).lower() not in _DEPLOYERS
            if is_other_tool or _OWNER_LABEL.search(name):
                return Creator(
                    reason=f"its {field[:-1]} {name} marks it as created by a program",
                    evidence=(cite(live, join(("metadata", field, name)), says="the mark of its creator"),),
                    certain=False,
                )
    return None


def copied_tracking_id(live: Manifest) -> Creator | None:
    """Argo CD writes a tracking id that names the object itself: one that names another was copied."""
    tracking_id = TrackingId.parse(text(live.annotations.get(TRACKING_ID)))
    if tracking_id is None or tracking_id.describes(live.body):
        return None
    original = f"{tracking_id.kind} {tracking_id.namespace}/{tracking_id.name}"
    return Creator(
        reason=f"its tracking id names {original}, so the controller of that object copied it",
        evidence=(cite(live, TRACKING_ID_POINTER, says="the tracking id of another object"),),
    )


def _release(live: Manifest) -> Creator | None:
    """Only `helm install` and `helm upgrade` write the release into annotations; rendering does not."""
    name, namespace = (text(live.annotations.get(f"meta.helm.sh/release-{part}")) for part in _RELEASE)
    if not name:
        return None
    place = f"{namespace}/{name}" if namespace else name
    pointer = join(("metadata", "annotations", "meta.helm.sh/release-name"))
    return Creator(
        reason=f"Helm installed it as part of release {place}, whose instance label is the name of this app",
        evidence=(cite(live, pointer, says="the Helm release that it belongs to"),),
        certain=bool(live.meta.get("managedFields")),  # else Argo CD may have taken it over since
    )


def _secret(live: Manifest) -> Creator | None:
    reason = _SECRETS.get(text(live.body.get("type"))) if live.ref.kind == "Secret" else None
    if reason is None:
        return None
    return Creator(reason=reason, evidence=(cite(live, "/type", says="its type"),))


def _manager(live: Manifest) -> Creator | None:
    """The oldest field manager, which is probably the creator, if Argo CD is not a manager."""
    managers = [w for w in ManagedFieldsIndex(live.body).managers if w.kind not in _NOT_CREATORS]
    if not managers:
        return None
    return Creator(
        reason=f"{managers[-1].manager} wrote it, and Argo CD never did",
        evidence=(cite(live, "/metadata/managedFields/0/manager", says="a manager that is not Argo CD"),),
    )


_NOT_CREATORS = frozenset(
    {WriterKind.UNKNOWN, WriterKind.API_SERVER, WriterKind.KUBECTL_APPLY, WriterKind.HELM}
)
