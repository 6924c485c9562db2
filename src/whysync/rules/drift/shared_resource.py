"""Two Applications claim one object.

## What happens
Both declare it, and each sync writes its own tracking mark on it. Whoever synced last owns it; the other
shows a difference, or a warning. They take turns for ever, and if one of them prunes, the object is gone.

## How whysync knows
Argo CD's `SharedResourceWarning` names both, or the live object carries the tracking id of another
Application than the one that declares it.

## Fix
One of them must let go: remove the object from the source of the other one. Cluster-wide things (CRDs,
namespaces, policies) belong into an Application of their own.

## When it is something else
A chart that writes `app.kubernetes.io/instance` itself can look like another Application under label
tracking: then switch to annotation tracking.
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

_EITHER = "Let one of them go: remove it from the other one's source"


@rule(cause="shared-resource", since="0.1")
def shared_resource(case: Case) -> Iterator[Finding]:
    warned: set[str] = set()
    refused = {
        report.failure.resource.name for report in case.failures(SharedResource) if report.failure.refused
    }
    for report in case.failures(SharedResource):
        if report.failure.refused:
            continue  # the sync was refused for it: that is the apply side's story
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
            verdict=f"{ref} is claimed by {apps}",
            evidence=(report.cite(says="Argo CD names both"),),
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
            verdict=f"{drift.ref} carries the mark of {other}, and {case.app.name} declares it too",
            fixes=_fixes(case, drift.ref, other),
        )


def _differences(case: Case, ref: Ref, marks: list[Drift]) -> Iterator[SymptomId]:
    """Its mark, and what the other app has written into it, where nothing else is known of that."""
    yield from (drift.symptom for drift in marks)
    yield from (drift.symptom for drift in case.drifts_by(Mechanism.UNKNOWN) if drift.ref.name == ref.name)


def _row(case: Case, ref: Ref) -> tuple[SymptomId, ...]:
    """The row itself, where nothing more is known of its difference than that there is one."""
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
        title="Or remove it from the other one's source" if mine else _EITHER,
        risk="if the app that lets go prunes before the other has synced, the object is deleted once",
    )
    return (mine, theirs) if mine is not None else (theirs,)
