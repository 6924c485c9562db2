"""A controller writes a time into an annotation of the object.

## What happens
Some controllers note on the object when they last looked at it, refreshed it or changed it. The value changes
all the time and is not Git's.

## How whysync knows
The annotation's name speaks of a time, its live value is one, and a controller is recorded as its writer; or
Git's value is no time (or Git has no such annotation).

## Fix
Ignore exactly this annotation, with `RespectIgnoreDifferences=true`; delete it from Git where it was copied
there.

## When it is something else
`kubectl rollout restart` writes `kubectl.kubernetes.io/restartedAt`: somebody restarted it. A time on
both sides that differs comes from a template that renders the present time.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, rule
from whysync.kubernetes.field_writers import phrase
from whysync.queries.drift import drift_finding
from whysync.queries.ignore_rules import ignore_field


@rule(cause="timestamp", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def controller_timestamp(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.TIMESTAMP):
        writer = drift.writer
        who = phrase(writer) if writer else "something in the cluster"
        drop = Fix.remove(drift.ref, drift.pointer, title="Delete the annotation from Git")
        ignore = ignore_field(case, drift.ref, drift.pointer, risk="none: the time is not Git's")
        yield drift_finding(
            drift,
            writer=writer,
            confidence=Confidence.HIGH if writer else Confidence.MEDIUM,
            verdict=f"{who} writes a time into the annotation {drift.last_key} of {drift.ref}",
            fixes=(ignore,) if drift.only_live else (drop, ignore),
        )
