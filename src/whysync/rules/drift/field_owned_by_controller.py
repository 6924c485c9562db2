"""A controller writes a field that Git sets too.

## What happens
An operator, a certificate injector, a cloud controller or another program in the cluster owns the field
and puts its own value back after every sync. Git and the controller take turns; with self-heal the app
flips between Synced and OutOfSync.

## How whysync knows
`managedFields` name that program as the last writer of the live value; or, without them, the field is
one that is made to be filled in by a controller (an empty `caBundle`, for example). Or self-heal is on and
the last sync succeeded, but the value differs again: a manual change would have been undone.

## Fix
Drop the field from Git where the manifest may do without it. Else ignore exactly this field, with
`RespectIgnoreDifferences=true`, or all that this manager owns (`managedFieldsManagers`). A field that
releases change, such as an image, is not ignored: Argo CD would never deploy a new one.

## When it is something else
`kubectl` or a console as the writer: somebody did it by hand, once. `/spec/replicas` with an autoscaler at
hand has a rule of its own.
"""

from collections.abc import Iterator, Sequence

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.kubernetes.api.pointer import index_of, split
from whysync.kubernetes.field_writers import Writer, WriterKind, phrase
from whysync.queries.drift import both_sides, drift_finding, field_names, live_values, server_side_diff
from whysync.queries.ignore_rules import ignore_fields


@rule(cause="controller-owned", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def field_owned_by_controller(case: Case) -> Iterator[Finding]:
    yield from _written_back(case)
    for drift in case.drifts_by(Mechanism.BY_CONTROLLER):
        writer = drift.writer
        who = phrase(writer) if writer else "a controller in the cluster"
        yield drift_finding(
            drift,
            writer=writer,
            confidence=_confidence(writer),
            verdict=f"{who} adds an element to {drift.last_key} of {drift.ref}, which Git leaves out"
            if drift.only_live and index_of(split(drift.pointer)[-1]) is not None
            else f"{who} owns {drift.last_key} of {drift.ref}, which Git"
            f" {'leaves out' if drift.only_live else 'sets too'}",
            fixes=tuple(_fixes(case, drift)),
        )


def _fixes(case: Case, drift: Drift) -> Iterator[Fix]:
    ignore = ignore_fields(case, drift.ref, drift.pointer)
    if not (drift.only_live or drift.is_required):
        yield Fix.remove(drift.ref, drift.pointer, title="Let the controller own it: drop the field from Git")
    elif not ignore:
        yield _commit([drift])
    yield from ignore


def _commit(drifts: Sequence[Drift]) -> Fix:
    return Fix.change(
        drifts[0].ref, *live_values(drifts), title="The other writer is right: commit its value to Git"
    )


def _written_back(case: Case) -> Iterator[Finding]:
    """Self-heal has synced the field, and its value differs again."""
    for drifts in case.drifts_by_object(Mechanism.CONTESTED):
        first = drifts[0]
        pointers = [drift.pointer for drift in drifts]
        removable = not any(drift.only_live or drift.is_required for drift in drifts)
        drop = Fix.remove(
            first.ref, *pointers, title="Let the other writer own it: remove the field from Git"
        )
        yield drift_finding(
            *drifts,
            writer=first.writer,
            confidence=Confidence.LOW,
            verdict=f"a controller or an admission webhook writes {field_names(drifts)} of {first.ref} again:"
            " self-heal has synced this commit, but the value differs",
            evidence=(
                *both_sides(drifts),
                cite(case.application, "/spec/syncPolicy/automated/selfHeal", says="self-heal undoes edits"),
                cite(case.application, "/status/operationState/phase", says="the last sync succeeded"),
            ),
            fixes=(
                server_side_diff(case, webhooks=True),
                *((drop,) if removable else ()),
                _commit(drifts),
                *ignore_fields(case, first.ref, *pointers),
            ),
        )


def _confidence(writer: Writer | None) -> Confidence:
    """A program by its name; a name that nobody knows may still be a person's script."""
    if writer is None:
        return Confidence.MEDIUM
    return Confidence.LOW if writer.kind is WriterKind.UNKNOWN else Confidence.HIGH
