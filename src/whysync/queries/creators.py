"""Who made an object that Git does not declare: what the live object itself says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis.evidence import Evidence, cite
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.field_writers import WriterKind
from whysync.kubernetes.field_writers.ownership import ManagedFieldsIndex

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# Nobody writes these into Git: controllers make them.
_ONLY_MADE = frozenset(
    {
        ("cilium.io", "CiliumIdentity"),
        ("cilium.io", "CiliumEndpoint"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("", "Endpoints"),
        ("", "Event"),
        ("apps", "ReplicaSet"),
        ("apps", "ControllerRevision"),
        ("coordination.k8s.io", "Lease"),
        ("wgpolicyk8s.io", "PolicyReport"),
        ("reports.kyverno.io", "EphemeralReport"),
        ("aquasecurity.github.io", "VulnerabilityReport"),
        ("aquasecurity.github.io", "ConfigAuditReport"),
        ("cert-manager.io", "CertificateRequest"),
        ("acme.cert-manager.io", "Order"),
        ("acme.cert-manager.io", "Challenge"),
    }
)
_COPIES = (
    "generate.kyverno.io/",
    "reflector.v1.k8s.emberstack.com/auto-reflects",
    "reflector.v1.k8s.emberstack.com/reflects",
    "replicator.v1.mittwald.de/replicated-from",
    "kubed.appscode.com/origin",
    "config-syncer.appscode.com/origin",
    "hnc.x-k8s.io/inherited-from",
    "operators.coreos.com/",
    "olm.owner",
)
_SECRETS = {
    "kubernetes.io/service-account-token": "Kubernetes makes such tokens for ServiceAccounts",
    "kubernetes.io/dockercfg": "OpenShift makes such Secrets for ServiceAccounts",
    "helm.sh/release.v1": "Helm keeps its releases in such Secrets",
}


class Creator(msgspec.Struct, frozen=True, kw_only=True):
    """`words` complete "it was never in Git: …"."""

    words: str
    evidence: tuple[Evidence, ...] = ()
    certain: bool = True


def creator_of(case: Case, row: ResourceRow) -> Creator | None:
    """`None` where nothing says that another program made it: then Argo CD may have, once."""
    live = case.live_of(row.key)
    if live is not None:
        if _applied_by_argocd(live):
            return None
        creator = _owner(live) or _copied(live) or _secret(live) or _manager(live)
        if creator is not None:
            return creator
    if (row.group, row.kind) in _ONLY_MADE:
        return Creator(words=f"only controllers make a {row.kind}", certain=False)
    return None


def _applied_by_argocd(live: Manifest) -> bool:
    ledger = ManagedFieldsIndex(live.body)
    return any(writer.kind is WriterKind.ARGOCD for writer in ledger.managers)


def _owner(live: Manifest) -> Creator | None:
    owner = fields(next(iter(items(live.meta.get("ownerReferences"))), None))
    if not owner:
        return None
    return Creator(
        words=f"{text(owner.get('kind'))} {text(owner.get('name'))} owns it, and what manages that made it",
        evidence=(cite(live, "/metadata/ownerReferences/0", says="its owner"),),
    )


def _copied(live: Manifest) -> Creator | None:
    for part, marks in (("annotations", live.annotations), ("labels", live.labels)):
        for name in marks:
            if name.startswith(_COPIES):
                pointer = join(("metadata", part, name))
                return Creator(
                    words="a program that copies or generates objects made it",
                    evidence=(cite(live, pointer, says="the mark of what made it"),),
                )
    return None


def _secret(live: Manifest) -> Creator | None:
    words = _SECRETS.get(text(live.body.get("type"))) if live.ref.kind == "Secret" else None
    if words is None:
        return None
    return Creator(words=words, evidence=(cite(live, "/type", says="its type"),))


def _manager(live: Manifest) -> Creator | None:
    """Its managers are known, and Argo CD is not among them: the oldest is most likely the maker."""
    managers = [w for w in ManagedFieldsIndex(live.body).managers if w.kind not in _SILENT]
    if not managers:
        return None
    return Creator(
        words=f"{managers[-1].manager} wrote it, and Argo CD never did",
        evidence=(cite(live, "/metadata/managedFields/0/manager", says="a manager that is not Argo CD"),),
    )


_SILENT = frozenset({WriterKind.UNKNOWN, WriterKind.API_SERVER, WriterKind.KUBECTL_APPLY, WriterKind.HELM})
