"""An object that was never in Git has the app's tracking label or annotation.

## What happens
Argo CD treats every live object with the app's tracking label or annotation as part of the app. Operators and
controllers copy labels and annotations to the objects that they create, mostly a problem with label tracking.
These objects look as if they had been removed from Git. Pruning deletes them, and the controller creates them
again, in a loop.

## How whysync knows
The resource requires pruning, nothing shows that Argo CD applied the object, and the object names its
creator: an owner reference, managedFields, or a label or annotation with a claim, owner or origin.
An object whose tracking id names another one has no sync status.
Otherwise its kind or name may show it: a volume claim of a StatefulSet, a generated name, the Secret of a
custom resource of the app. A client-side sync writes the last-applied annotation: an object that has only
the app's tracking label was labeled by someone else, or belongs to a release of the same name. If only labels
or names show it, the finding also states the other possible explanation.

## Fix
Exclude kinds that only controllers create, such as CiliumIdentity, in `resource.exclusions` (Argo CD 3 does
so by default). Otherwise set `argocd.argoproj.io/sync-options: Prune=false` and
`argocd.argoproj.io/compare-options: IgnoreExtraneous` on the object, through its creator if that can set
annotations: it is not pruned and no longer counts for the sync status, but its health does. Annotation
tracking prevents the problem for all objects.

## When it is something else
If Argo CD applied the object, it was removed from Git and has not been pruned.
"""

from collections.abc import Iterator, Sequence
from shlex import quote

from whysync.argocd.api.application import ResourceRow, SyncCode
from whysync.argocd.tracking.method import TRACKING_ID_POINTER
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import Missing
from whysync.queries.commands import argocd_namespace, comment, kubectl, named, on_object, with_comment
from whysync.queries.creators import Creator, copied_tracking_id, creator_of
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
_MOST = 10
NO_PRUNE = "argocd.argoproj.io/sync-options=Prune=false"
IGNORE = "argocd.argoproj.io/compare-options=IgnoreExtraneous"


@rule(cause="extraneous", since="0.1")
def created_by_another_controller(case: Case) -> Iterator[Finding]:
    groups: dict[tuple[str, bool, bool], list[tuple[ResourceRow, Creator]]] = {}
    for row in case.app.status.resources:
        creator = creator_of(case, row) if SymptomId.extra(row.key) in case.symptom_ids else None
        if creator is not None:
            excluded = _only_by_controllers(row)
            groups.setdefault((creator.reason, creator.certain, excluded), []).append((row, creator))
    for created in groups.values():
        yield _finding(case, created)
    yield from _without_status(case)


def _without_status(case: Case) -> Iterator[Finding]:
    """Argo CD lists an object with the tracking id of another one, and gives it no sync status."""
    if case.app.status.sync.status == SyncCode.UNKNOWN:
        return
    for row in case.app.status.resources:
        live = case.live_of(row.key)
        if row.status in (SyncCode.SYNCED, SyncCode.OUT_OF_SYNC) or row.hook or live is None:
            continue
        copied = copied_tracking_id(live)
        if copied is None:
            continue
        yield Finding(
            about=row.ref,
            explains=(),
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            verdict=f"{row.ref} was never in Git, so Argo CD lists it without a sync status and does not"
            f" prune it: {copied.reason}",
            evidence=(case.cited_row(row, says="without a sync status"), *copied.evidence),
            fixes=(
                Fix.run(
                    with_comment(on_object("get", row.ref, "-o", "yaml"), "which controller created it?"),
                    comment("let that controller not copy the annotations argocd.argoproj.io/*"),
                    title="Nothing has to be done; to remove it from the app, stop the copying",
                ),
            ),
        )


def _finding(case: Case, created: Sequence[tuple[ResourceRow, Creator]]) -> Finding:
    """One finding for all objects that were created for the same reason."""
    (first, creator), rows = created[0], [row for row, _ in created]
    mark = _tracking_mark(case, first)
    by_label = case.may_track_by_label and (
        case.argocd.tracking_method != "annotation" or mark == case.argocd.instance_label_pointer
    )
    names, several = listed(row.ref for row in rows), len(rows) > 1
    was, it, has = ("were", "they", "have") if several else ("was", "it", "has")
    reason = f"for each of them, {creator.reason}" if several else creator.reason
    return Finding(
        about=first.ref,
        explains=tuple(SymptomId.extra(row.key) for row in rows),
        confidence=Confidence.HIGH if creator.certain else Confidence.MEDIUM,
        verdict=f"{names} {was} never in Git: {reason}"
        if creator.certain
        else f"{names} {was} most likely never in Git: {reason}; or {it} {was} removed from Git and"
        f" {has} not been pruned",
        evidence=(
            case.cited_row(first, says="requires pruning"),
            *creator.evidence,
            *_tracking_evidence(case, first, "" if creator.cites(mark) else mark),
            *(case.cited_row(row, says="requires pruning too") for row in rows[1:4]),
        ),
        fixes=(
            *_exclude_kind(case, first),
            *(() if creator.certain or _only_by_controllers(first) else (_check_history(first),)),
            Fix.run(
                *(on_object("annotate", row.ref, NO_PRUNE, IGNORE) for row in rows[:_MOST]),
                title=f"Exclude {'them' if several else 'it'} from pruning and from the sync status,"
                f" best set by {'their' if several else 'its'} creator",
                risk=f"{'their' if several else 'its'} health still counts; the creator may remove the"
                " annotations",
            ),
            *(
                (annotation_tracking(case, title="Track by annotation: Argo CD then ignores copied labels"),)
                if by_label
                else ()
            ),
        ),
    )


def _only_by_controllers(row: ResourceRow) -> bool:
    return (row.group, row.kind) in _ONLY_BY_CONTROLLERS


def _check_history(row: ResourceRow) -> Fix:
    """The command that decides between the two readings of an uncertain creator."""
    search = f"git log --oneline -G {quote(named(row.name))}"
    return Fix.run(
        with_comment(search, "a commit that removed it? Then prune it instead"),
        with_comment(on_object("get", row.ref, "-o", "yaml"), "its labels and owner: who created it?"),
        title="Check first whether Git ever declared it",
    )


def _tracking_mark(case: Case, row: ResourceRow) -> str:
    """The pointer to the mark by which Argo CD counts the live object to the app; empty if it is not known.

    An object with the label and without a tracking id can only be tracked by its label.
    """
    live = case.live_of(row.key)
    if live is None:
        return ""
    found = (
        pointer
        for pointer in (TRACKING_ID_POINTER, case.argocd.instance_label_pointer)
        if not isinstance(live.at(pointer), Missing)
    )
    return next(found, "")


def _tracking_evidence(case: Case, row: ResourceRow, mark: str) -> Iterator[Evidence]:
    live = case.live_of(row.key)
    if live is not None and mark:
        yield cite(live, mark, says="why Argo CD counts it to an app")


def _exclude_kind(case: Case, row: ResourceRow) -> Iterator[Fix]:
    """Objects of these kinds come back under another name, so a rule for one object is of no use."""
    if not _only_by_controllers(row):
        return
    edit = kubectl("edit", "configmap", "argocd-cm", namespace=argocd_namespace(case))
    yield Fix.run(
        with_comment(edit, "add below data.resource.exclusions, and keep what is there:"),
        comment(f"- {{apiGroups: ['{row.group}'], kinds: [{row.kind}], clusters: ['*']}}"),
        title=f"Exclude {row.kind} from Argo CD: only controllers create it",
        risk=f"Argo CD no longer shows, compares or prunes any {row.kind}",
    )
