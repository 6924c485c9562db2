"""Only kubectl's `last-applied-configuration` annotation differs.

## What happens
Someone ran `kubectl apply` on an object of the app, which wrote the annotation
`kubectl.kubernetes.io/last-applied-configuration`. Nothing else differs, and a sync changes nothing. Argo
CD 3 hides the annotation in its diff; older versions show it, and so does every version if the manifest in
Git has the annotation.

## How whysync knows
The only field of the object that differs is that annotation.

## Fix
Ignore the annotation by its JSON pointer (write the slash in its name as `~1`). If the manifest in Git has
the annotation (an exported manifest), delete it there.

## When it is something else
If another field differs as well, that field is the cause.
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
            case,
            drift.ref,
            LAST_APPLIED_POINTER,
            risk="none: Argo CD writes the annotation again at each sync, whatever the live one is",
        )
        yield drift_finding(
            drift,
            writer=drift.writer,
            confidence=Confidence.HIGH,
            verdict=f"{drift.ref}: only kubectl's last-applied annotation differs; a sync changes nothing",
            fixes=(ignore,) if drift.only_live else (in_git, ignore),
        )
