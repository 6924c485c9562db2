"""The mark by which Argo CD knows its objects was lost, or written by somebody else.

## What happens
With label tracking Argo CD writes the app's name into `app.kubernetes.io/instance`. Charts and Kustomize
write that label too, with a name of their own, and operators copy or drop it. Then the object looks like
another app's, or like nobody's: it is OutOfSync, and with pruning it can be deleted by the wrong app.
With annotation tracking (the default since Argo CD 3) the same happens when a second Argo CD, or a tool that
rewrites annotations, touches `argocd.argoproj.io/tracking-id`.

## How whysync knows
The tracking label or annotation is what differs, and what the cluster has is not the mark of another
Application at hand.

## Fix
Sync once where the mark was only lost. Where something keeps writing the label: annotation tracking
(`application.resourceTrackingMethod: annotation` in `argocd-cm`), or another `application.instanceLabelKey`.
Each app is then synced once more, to write the new marks. Two Argo CD instances need different
`installationID`s.

## When it is something else
The mark names another Application that really declares the object: then two apps share it.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Drift, Finding, Fix, Mechanism, rule
from whysync.diagnosis.drift.mechanism import INSTANCE
from whysync.diagnosis.symptom import SymptomId
from whysync.kubernetes.field_writers import WriterKind, phrase
from whysync.messages.patterns.operations import SharedResource
from whysync.queries.commands import sync
from whysync.queries.drift import annotation_tracking, drift_finding
from whysync.queries.named_objects import named_ref
from whysync.queries.tracking import is_label_of_a_tool, other_app_of


@rule(cause="tracking-conflict", since="0.1")
def tracking_id_mismatch(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.TRACKING):
        if other_app_of(case, drift):
            continue  # another Application claims it: that rule tells it
        yield drift_finding(
            drift,
            writer=drift.writer,
            explains=_taken_for_a_claim(case, drift),
            confidence=Confidence.HIGH if drift.writer else Confidence.MEDIUM,
            verdict=f"{drift.ref} {_what(drift)}",
            fixes=tuple(_fixes(case, drift)),
        )


def _taken_for_a_claim(case: Case, drift: Drift) -> Iterator[SymptomId]:
    """Argo CD reads the foreign label as another Application's, and warns of a shared resource."""
    if not is_label_of_a_tool(case, drift):
        return
    for report in case.failures(SharedResource):
        if named_ref(case, report.failure.resource, report.ref).name == drift.ref.name:
            yield from report.symptoms


def _what(drift: Drift) -> str:
    mark = "tracking label" if drift.pointer == INSTANCE else "tracking annotation"
    writer = drift.writer
    foreign = writer is not None and writer.kind is not WriterKind.ARGOCD
    by = f" ({phrase(writer)})" if writer is not None and foreign else ""
    if drift.only_git:
        return f"has lost Argo CD's {mark}: somebody removed it, or the sync that writes it never reached it"
    if drift.only_live:
        return f"carries a {mark} that Argo CD does not want there: {drift.live_value}{by}"
    other = f"carries another {mark} than Argo CD's, {drift.live_value} instead of {drift.desired_value}"
    return f"{other}: written by a chart or tool{by}, or by another Argo CD"


def _fixes(case: Case, drift: Drift) -> Iterator[Fix]:
    ref = drift.ref
    yield Fix.run(
        sync(case, "--resource", quote(f"{ref.group}:{ref.kind}:{ref.place}")),
        title="Sync this resource: Argo CD writes its mark again",
        risk="if something else writes the mark, it comes back",
    )
    if drift.pointer == INSTANCE and case.argocd.tracking_method != "annotation":
        yield annotation_tracking(case, title="Track by annotation: then the label means nothing to Argo CD")
