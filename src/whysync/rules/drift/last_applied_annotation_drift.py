"""Only kubectl's own bookkeeping differs: `last-applied-configuration`.

## What happens
Somebody ran `kubectl apply` on an object of the app. That leaves the annotation
`kubectl.kubernetes.io/last-applied-configuration` behind. Nothing that runs differs. A sync is a no-op and
stays one. Argo CD 3 hides the annotation from its diff; older versions, and manifests in Git that
carry the annotation themselves, show it.

## How whysync knows
The only field of the object that differs is that annotation.

## Fix
Ignore the annotation by its pointer; the slash in its name is written `~1`. Where Git itself carries the
annotation (an exported manifest), delete it there.

## When it is something else
Any other field that differs as well: that one is the cause, the annotation its companion.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, rule
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER
from whysync.queries.drift import drift_finding
from whysync.queries.ignore_rules import ignore_field


@rule(cause="last-applied", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def last_applied_annotation_drift(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.LAST_APPLIED):
        if any(other.ref == drift.ref and other is not drift for other in case.drifts):
            continue
        in_git = Fix.remove(
            drift.ref, LAST_APPLIED_POINTER, title="Delete the annotation from the manifest in Git"
        )
        ignore = ignore_field(
            case, drift.ref, LAST_APPLIED_POINTER, risk="none: the annotation means nothing to Argo CD"
        )
        yield drift_finding(
            drift,
            writer=drift.writer,
            confidence=Confidence.HIGH,
            verdict=f"{drift.ref}: only kubectl's last-applied annotation differs; a sync changes nothing",
            fixes=(ignore,) if drift.only_live else (in_git, ignore),
        )
