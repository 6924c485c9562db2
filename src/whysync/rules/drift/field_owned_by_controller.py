"""A controller writes a field that Git sets too.

## What happens
An operator, a certificate injector, a cloud controller or another program in the cluster owns the field
and puts its own value back after every sync. Git and the controller take turns; with self-heal the app
flips between Synced and OutOfSync.

## How whysync knows
`managedFields` name that program as the last writer of the live value; or, without them, the field is
one that is made to be filled in by a controller (an empty `caBundle`, for example).

## Fix
Drop the field from Git where the manifest may do without it. Else ignore exactly this field, with
`RespectIgnoreDifferences=true`, or all that this manager owns (`managedFieldsManagers`).

## When it is something else
`kubectl` or a console as the writer: somebody did it by hand, once. `/spec/replicas` with an autoscaler at
hand has a rule of its own.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, rule
from whysync.kubernetes.field_writers import Writer, WriterKind, phrase
from whysync.queries.drift import drift_finding
from whysync.queries.ignore_rules import ignore_field


@rule(cause="controller-owned", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def field_owned_by_controller(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.BY_CONTROLLER):
        writer = drift.writer
        who = phrase(writer) if writer else "a controller in the cluster"
        drop = Fix.remove(
            drift.ref, drift.pointer, title="Let the controller own it: drop the field from Git"
        )
        ignore = ignore_field(case, drift.ref, drift.pointer)
        yield drift_finding(
            drift,
            writer=writer,
            confidence=_confidence(writer),
            verdict=f"{who} owns {drift.last_key} of {drift.ref}, which Git"
            f" {'leaves out' if drift.only_live else 'sets too'}",
            fixes=(ignore,) if drift.only_live or drift.is_required else (drop, ignore),
        )


def _confidence(writer: Writer | None) -> Confidence:
    """A program by its name; a name that nobody knows may still be a person's script."""
    if writer is None:
        return Confidence.MEDIUM
    return Confidence.LOW if writer.kind is WriterKind.UNKNOWN else Confidence.HIGH
