"""Two Applications declare the same object.

## What happens
Both declare it, and each sync writes the app's own tracking label or annotation. The app that synced last
owns the object; the other one shows a difference or a warning. With auto-sync they alternate, and if one of
them prunes, the object is deleted.

## How whysync knows
Argo CD's `SharedResourceWarning` names both, or the live object has the tracking id of another Application.

## Fix
Remove the object from the source of one of them. Cluster-scoped objects (CRDs, namespaces, policies) belong
in an Application of their own.

## When it is something else
With label tracking, a chart that sets `app.kubernetes.io/instance` itself can look like another Application:
switch to annotation tracking.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Drift, Finding, Fix, Mechanism, rule
from whysync.diagnosis.symptom import OPERATION, SymptomId
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.operations import SharedResource
from whysync.queries.commands import comment
from whysync.queries.drift import drift_finding
from whysync.queries.named_objects import named_ref
from whysync.queries.tracking import drop_from_this_app, is_label_of_a_tool, other_app_of

_REMOVE_FROM_ONE = "Remove it from the source of one of the two apps"


@rule(cause="shared-resource", since="0.1")
def shared_resource(case: Case) -> Iterator[Finding]:
    warned: set[str] = set()
    refused = {
        report.failure.resource.name for report in case.failures(SharedResource) if report.failure.refused
    }
    for report in case.failures(SharedResource):
        if report.failure.refused:
            continue  # the sync was refused because of it: a rule in rules/apply explains that
        ref = named_ref(case, report.failure.resource, report.ref)
        warned.add(ref.name)
        apps = " and ".join(report.failure.apps)
        drifts = [d for d in case.drifts_by(Mechanism.TRACKING) if d.ref.name == ref.name]
        if any(is_label_of_a_tool(case, drift) for drift in drifts):
            continue  # Argo CD takes a label for a claim: tracking_id_mismatch tells whose label it is
        yield Finding(
            about=ref,
            explains=(*report.symptoms, *_differences(case, ref, drifts), *_row(case, ref)),
            because=(OPERATION,) if ref.name in refused else (),
            confidence=Confidence.HIGH,
            verdict=f"{ref} is declared by {apps}",
            evidence=(report.cite(says="both apps, as reported by Argo CD"),),
            fixes=_fixes(case, ref, *report.failure.apps[-1:]),
        )
    for drift in case.drifts_by(Mechanism.TRACKING):
        other = other_app_of(case, drift)
        if not other or drift.ref.name in warned:
            continue
        yield drift_finding(
            drift,
            writer=drift.writer,
            confidence=Confidence.HIGH,
            verdict=f"{drift.ref} has the tracking id of {other}, but {case.app.name} declares it too",
            fixes=_fixes(case, drift.ref, other),
        )


def _differences(case: Case, ref: Ref, marks: list[Drift]) -> Iterator[SymptomId]:
    """The tracking id, and fields without another explanation: the other app has written them."""
    yield from (drift.symptom for drift in marks)
    yield from (drift.symptom for drift in case.drifts_by(Mechanism.UNKNOWN) if drift.ref.name == ref.name)


def _row(case: Case, ref: Ref) -> tuple[SymptomId, ...]:
    """The resource itself, if its differing fields are unknown."""
    row = SymptomId.differs(ref.key)
    return (row,) if row in case.symptom_ids else ()


def _fixes(case: Case, ref: Ref, other: str = "the other app") -> tuple[Fix, ...]:
    mine = drop_from_this_app(case, ref)
    look = (
        f"argocd app manifests {quote(other.rpartition('/')[2])} | grep -n -B5 {quote(f'name: {ref.name}')}"
    )
    theirs = Fix.run(
        look,
        comment(f"then remove {ref.kind} {ref.name} from the source of the app that should not own it"),
        title="Remove it from the source of the other app" if mine else _REMOVE_FROM_ONE,
        risk="if this app prunes before the other one has synced, the object is deleted once",
    )
    return (mine, theirs) if mine is not None else (theirs,)
