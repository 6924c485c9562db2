"""An object that was never in Git has the app's tracking label or annotation.

## What happens
Argo CD treats every live object with the app's tracking label or annotation as part of the app. Operators and
controllers copy labels and annotations to the objects that they create, mostly a problem with label tracking.
These objects look as if they had been removed from Git. Pruning deletes them, and the controller creates them
again, in a loop.

## How whysync knows
The resource requires pruning, nothing shows that Argo CD applied the object, and the object names its
creator: an owner reference, managedFields, or a label or annotation with a claim, owner or origin.
Otherwise its kind or name may show it: a volume claim of a StatefulSet, a generated name. If only labels or
names show it, the finding also states the other possible explanation.

## Fix
Exclude kinds that only controllers create, such as CiliumIdentity, in `resource.exclusions` (Argo CD 3 does
so by default). Otherwise set `argocd.argoproj.io/compare-options: IgnoreExtraneous` on the object, through
its creator if that can set annotations: it no longer counts for the sync status, but its health does, and a
prune still deletes it. Annotation tracking prevents the problem for all objects.

## When it is something else
If Argo CD applied the object, it was removed from Git and has not been pruned.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.queries.commands import argocd_namespace, comment, kubectl, on_object, with_comment
from whysync.queries.creators import creator_of
from whysync.queries.drift import annotation_tracking

_ONLY_BY_CONTROLLERS = frozenset({
    ("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice"), ("coordination.k8s.io", "Lease"),
    ("certificates.k8s.io", "CertificateSigningRequest"), ("cert-manager.io", "CertificateRequest"),
    ("cilium.io", "CiliumIdentity"), ("cilium.io", "CiliumEndpoint"), ("cilium.io", "CiliumEndpointSlice"),
    ("kyverno.io", "AdmissionReport"), ("kyverno.io", "BackgroundScanReport"),
    ("kyverno.io", "UpdateRequest"),
    ("kyverno.io", "ClusterAdmissionReport"), ("kyverno.io", "ClusterBackgroundScanReport"),
    ("wgpolicyk8s.io", "PolicyReport"), ("wgpolicyk8s.io", "ClusterPolicyReport"),
    ("reports.kyverno.io", "EphemeralReport"), ("reports.kyverno.io", "ClusterEphemeralReport"),
})  # fmt: skip
"""Excluded by the default `resource.exclusions` of Argo CD 3."""
IGNORE = "argocd.argoproj.io/compare-options=IgnoreExtraneous"


@rule(cause="extraneous", since="0.1")
def created_by_another_controller(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        symptom = SymptomId.extra(row.key)
        if symptom not in case.symptom_ids:
            continue
        creator = creator_of(case, row)
        if creator is None:
            continue
        by_label = case.argocd.tracking_method != "annotation"
        yield Finding(
            about=row.ref,
            explains=(symptom,),
            confidence=Confidence.HIGH if creator.certain else Confidence.MEDIUM,
            verdict=f"{row.ref} was never in Git: {creator.reason}"
            if creator.certain
            else f"{row.ref} was most likely never in Git: {creator.reason}; or it was removed from Git and"
            " has not been pruned",
            evidence=(case.cited_row(row, says="requires pruning"), *creator.evidence),
            fixes=(
                *_exclude_kind(case, row),
                Fix.run(
                    on_object("annotate", row.ref, IGNORE),
                    title="Exclude it from the sync status: IgnoreExtraneous, best set by its creator",
                    risk="this changes only the sync status: a prune still deletes the object"
                    + (", and auto-sync prunes here" if case.prunes else "")
                    + "; its health still counts; its creator may remove the annotation",
                ),
                *(
                    (
                        annotation_tracking(
                            case, title="Track by annotation: Argo CD then ignores copied labels"
                        ),
                    )
                    if by_label
                    else ()
                ),
            ),
        )


def _exclude_kind(case: Case, row: ResourceRow) -> Iterator[Fix]:
    """Objects of these kinds come back under another name, so a rule for one object is of no use."""
    if (row.group, row.kind) not in _ONLY_BY_CONTROLLERS:
        return
    edit = kubectl("edit", "configmap", "argocd-cm", namespace=argocd_namespace(case))
    yield Fix.run(
        with_comment(edit, "add below data.resource.exclusions, and keep what is there:"),
        comment(f"- {{apiGroups: ['{row.group}'], kinds: [{row.kind}], clusters: ['*']}}"),
        title=f"Exclude {row.kind} from Argo CD: only controllers create it",
        risk=f"Argo CD no longer shows, compares or prunes any {row.kind}",
    )
