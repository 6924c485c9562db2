"""Argo CD's tracking label or annotation is missing or has a foreign value.

## What happens
With label tracking Argo CD writes the app's name into `app.kubernetes.io/instance`. Charts and Kustomize
also set that label, to another name, and operators copy or remove it. The object then seems to belong to
another app or to no app: it is OutOfSync, and the wrong app may prune it. With annotation tracking (the
default since Argo CD 3) the same happens if a second Argo CD, or a tool that rewrites annotations, changes
`argocd.argoproj.io/tracking-id`.

## How whysync knows
The tracking label or annotation differs, and its live value does not name another known Application. Or the
resource is Synced, and its tracking annotation nevertheless names another app.

## Fix
If it is only missing, sync once. If another tool keeps writing the label, use annotation tracking
(`application.resourceTrackingMethod: annotation` in `argocd-cm`) or another `application.instanceLabelKey`,
and sync each app once to write the new labels or annotations. Two Argo CD instances need different
`installationID`s.

## When it is something else
If the live value names another Application that declares the object, two apps share it.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import SyncCode
from whysync.argocd.tracking.method import TRACKING_ID, TRACKING_ID_POINTER, TrackingId
from whysync.diagnosis import Case, Confidence, Drift, Finding, Fix, Mechanism, Severity, cite, rule
from whysync.diagnosis.drift.mechanism import OWN_INSTANCE
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import text
from whysync.kubernetes.field_writers import WriterKind, phrase
from whysync.messages.patterns.operations import SharedResource
from whysync.queries.commands import kubectl, on_object, sync, with_comment
from whysync.queries.drift import annotation_tracking, drift_finding
from whysync.queries.named_objects import named_ref
from whysync.queries.tracking import is_label_of_a_tool, other_app_of

_UNKNOWN_ORIGIN = "written by a chart or tool, or by another Argo CD"


@rule(cause="tracking-conflict", since="0.1")
def tracking_id_mismatch(case: Case) -> Iterator[Finding]:
    yield from _of_synced_resources(case)
    for drift in case.drifts_by(Mechanism.TRACKING):
        if other_app_of(case, drift):
            continue  # another Application declares it: shared_resource
        yield drift_finding(
            drift,
            writer=drift.writer,
            explains=_shared_resource_symptoms(case, drift),
            confidence=Confidence.HIGH if drift.writer else Confidence.MEDIUM,
            verdict=_verdict(case, drift),
            fixes=tuple(_fixes(case, drift)),
        )


def _of_synced_resources(case: Case) -> Iterator[Finding]:
    """Argo CD's diff does not show a tracking id that still names another app."""
    for row, _, desired, live in case.row_objects:
        if row.status != SyncCode.SYNCED or live is None or desired is None:
            continue
        live_mark, desired_mark = live.annotations.get(TRACKING_ID), desired.annotations.get(TRACKING_ID)
        if live_mark == desired_mark:
            continue
        found, wanted = TrackingId.parse(text(live_mark)), TrackingId.parse(text(desired_mark))
        if found is None or wanted is None or found.app == wanted.app or not found.describes(live.body):
            continue
        mark = f"{TRACKING_ID}={text(desired.annotations.get(TRACKING_ID))}"
        yield Finding(
            about=row.ref,
            field=TRACKING_ID_POINTER,
            explains=(),
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            verdict=f"{row.ref} is Synced, but its tracking annotation names app {found.app} instead of"
            f" {wanted.app}: deleting or pruning {found.app} can delete it",
            evidence=(
                cite(live, TRACKING_ID_POINTER, says="the app that tracks it"),
                cite(desired, TRACKING_ID_POINTER, says="the app that declares it"),
            ),
            fixes=(
                Fix.run(
                    with_comment(f"argocd app resources {quote(found.app)}", "is it still a resource of it?"),
                    with_comment(on_object("annotate", row.ref, mark, "--overwrite"), "if it is not"),
                    title=f"If {found.app} no longer declares it: write the tracking id of {wanted.app}",
                    risk=f"if {found.app} still declares it, the two apps overwrite each other",
                ),
            ),
        )


def _shared_resource_symptoms(case: Case, drift: Drift) -> Iterator[SymptomId]:
    """The SharedResourceWarning that Argo CD raises because of a foreign label."""
    if not is_label_of_a_tool(case, drift):
        return
    for report in case.failures(SharedResource):
        if named_ref(case, report.failure.resource, report.ref).name == drift.ref.name:
            yield from report.symptoms


def _verdict(case: Case, drift: Drift) -> str:
    is_label = drift.pointer in (case.argocd.instance_label_pointer, OWN_INSTANCE)
    field = "tracking label" if is_label else "tracking annotation"
    writer = drift.writer
    foreign = writer is not None and writer.kind is not WriterKind.ARGOCD
    by = f" ({phrase(writer)})" if writer is not None and foreign else ""
    if drift.only_git:
        return f"{drift.ref} lacks Argo CD's {field}: it was removed, or no sync has written it yet"
    if drift.only_live and drift.pointer == OWN_INSTANCE:
        return (
            f"{drift.ref} still has Argo CD's {field} ({drift.live_value}), which Argo CD no longer sets:"
            " the tracking method was changed, and the sync does not remove the label"
        )
    if drift.only_live:
        return f"{drift.ref} has a {field} that Argo CD does not set: {drift.live_value}{by}"
    origin = f"{phrase(writer)} wrote it" if writer is not None and foreign else _UNKNOWN_ORIGIN
    return f"the {field} of {drift.ref} is {drift.live_value} instead of {drift.desired_value}: {origin}"


def _fixes(case: Case, drift: Drift) -> Iterator[Fix]:
    ref = drift.ref
    if drift.only_live and drift.pointer == OWN_INSTANCE:
        yield Fix.run(
            kubectl(
                *("label", ref.kind.lower(), ref.name, "argocd.argoproj.io/instance-"),
                namespace=ref.namespace,
            ),
            title="Remove the label: with the new tracking method nothing reads it",
            risk="Argo CD loses the object if application.instanceLabelKey still names this label",
        )
        return
    yield Fix.run(
        sync(case, "--resource", quote(f"{ref.group}:{ref.kind}:{ref.place}")),
        title="Sync this resource: Argo CD writes the tracking id again",
        risk="if another program changes it, the difference comes back",
    )
    if drift.pointer == case.argocd.instance_label_pointer:
        yield annotation_tracking(case, title="Track by annotation: Argo CD then ignores the label")
