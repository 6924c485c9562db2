"""A controller writes a timestamp into an annotation of the object.

## What happens
Some controllers record in an annotation when they last reconciled, refreshed or changed the object. The value
changes all the time, and Git does not set it.

## How whysync knows
The annotation's name suggests a time and its live value is a timestamp. A controller is recorded as its
writer, or Git's value is not a timestamp, or Git does not declare the annotation.

## Fix
Ignore only this annotation, with `RespectIgnoreDifferences=true`. Delete it from Git if it was copied there.

## When it is something else
`kubectl rollout restart` writes `kubectl.kubernetes.io/restartedAt`: someone restarted the workload. If both
sides have a timestamp, a template renders the current time.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, rule
from whysync.kubernetes.field_writers import phrase
from whysync.queries.drift import drift_finding
from whysync.queries.ignore_rules import ignore_field, risk_of_ignoring


@rule(cause="timestamp", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def controller_timestamp(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.TIMESTAMP):
        writer = drift.writer
        who = phrase(writer) if writer else "a program in the cluster"
        drop = Fix.remove(drift.ref, drift.pointer, title="Delete the annotation from Git")
        risk = risk_of_ignoring(drift, "none: Git does not set the timestamp")
        ignore = ignore_field(case, drift.ref, drift.pointer, risk=risk)
        yield drift_finding(
            drift,
            writer=writer,
            confidence=Confidence.HIGH if writer else Confidence.MEDIUM,
            verdict=f"{who} writes a timestamp into annotation {drift.last_key} of {drift.ref}",
            fixes=(ignore,) if drift.only_live else (drop, ignore),
        )
