"""A controller writes a field that Git also sets.

## What happens
An operator, a certificate injector, a cloud controller or another program in the cluster owns the field and
writes its own value again after every sync. With self-heal the app flips between Synced and OutOfSync.

## How whysync knows
`managedFields` name that program as the last writer of the live value. Without managedFields, the field is
one that controllers fill in (for example an empty `caBundle`). Or self-heal is on and the last sync
succeeded, but the value differs again: self-heal would have undone a manual change.

## Fix
Remove the field from Git if the manifest is valid without it; find and stop a program that nobody knows.
Otherwise ignore only this field, with `RespectIgnoreDifferences=true`, or all fields of this manager
(`managedFieldsManagers`). whysync does not suggest to ignore a field that releases change, such as an image:
Argo CD would never deploy a new value.

## When it is something else
If `kubectl` or a console is the writer, someone changed it by hand, once. `replicas_owned_by_autoscaler`
covers `/spec/replicas` with an autoscaler.
"""

from collections.abc import Iterable, Iterator

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin, is_traffic_weight
from whysync.kubernetes.api.pointer import index_of, join, split, without_indexes
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import Writer, WriterKind, phrase
from whysync.queries.drift import (
    both_sides,
    drift_finding,
    field_names,
    find_writer,
    live_values,
    server_side_diff,
)
from whysync.queries.field_removal import removal_risk
from whysync.queries.ignore_rules import ignore_fields
from whysync.queries.other_writers import WRITES_AGAIN, stop_writer


@rule(cause="controller-owned", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def field_owned_by_controller(case: Case) -> Iterator[Finding]:
    yield from _written_back(case)
    for drifts in _groups(case):
        drift, writer = drifts[0], drifts[0].writer
        autoscaler = _own_autoscaler(case, drift) if writer is None else ""
        who = phrase(writer) if writer else autoscaler or _unnamed(drift)
        elements = "an element" if len(drifts) == 1 else f"{len(drifts)} elements"
        yield drift_finding(
            *drifts,
            writer=writer,
            confidence=_confidence(writer),
            verdict=f"{who} adds {elements} to {drift.last_key} of {drift.ref}, which Git leaves out"
            if _is_added_element(drift)
            else f"{who} owns {field_names(drifts)} of {drift.ref}, which Git"
            f" {'leaves out' if drift.only_live else 'also sets'}",
            fixes=tuple(_fixes(case, drifts)),
        )


def _groups(case: Case) -> Iterable[list[Drift]]:
    """Each field of Git, in all elements of a list; what a writer added to an object, elements by their list.

    One ignore rule for all fields: a merge patch replaces `ignoreDifferences`, so several patches would undo
    each other.
    """
    groups: dict[tuple[Ref, str, Writer | None], list[Drift]] = {}
    for drift in case.drifts_by(Mechanism.BY_CONTROLLER):
        parts = split(drift.pointer)
        own = without_indexes(drift.pointer)
        pointer = join(parts[:-1]) if _is_added_element(drift) else "" if drift.only_live else own
        groups.setdefault((drift.ref, pointer, drift.writer), []).append(drift)
    return groups.values()


def _is_added_element(drift: Drift) -> bool:
    return drift.only_live and index_of(split(drift.pointer)[-1]) is not None


def _fixes(case: Case, drifts: list[Drift]) -> Iterator[Fix]:
    drift = drifts[0]
    ignore = ignore_fields(case, drift.ref, *(element.pointer for element in drifts))
    risk = removal_risk(case, drift.ref, drift.pointer, writer="the controller", ignorable=bool(ignore))
    drop = Fix.remove(
        drift.ref,
        *(element.pointer for element in drifts),
        title="Let the controller own it: remove the field from Git",
        risk=risk,
    )
    # the weights of one route add up, so that none of them can be left out
    removable = not (drift.only_live or drift.is_required or is_traffic_weight(drift))
    scales = drift.last_key == "replicas" and not is_builtin(drift.ref)
    if removable and risk and scales:  # the removal can stop everything: there is no default of 1
        yield from (*ignore, drop)
        return
    if removable and drift.writer is not None and drift.writer.kind is WriterKind.UNKNOWN:
        yield from (*stop_writer(case, drift.ref, drift.writer, drift.pointer), *ignore, drop)
        return
    if removable:
        yield drop
    elif not ignore:
        yield from (*stop_writer(case, drift.ref, drift.writer, drift.pointer), _commit(*drifts))
    yield from ignore


def _own_autoscaler(case: Case, drift: Drift) -> str:
    """The autoscaler among the app's own resources: `FleetAutoscaler` scales a `Fleet`; empty if none is."""
    if drift.last_key != "replicas":
        return ""
    kind, namespace = f"{drift.ref.kind}Autoscaler", drift.ref.namespace
    rows = [row.ref for row in case.app.status.resources if (row.kind, row.namespace) == (kind, namespace)]
    return str(rows[0]) if len(rows) == 1 else ""


def _unnamed(drift: Drift) -> str:
    """Who writes it, if nothing records that: people scale, too."""
    return f"{'most likely ' if drift.last_key == 'replicas' else ''}a controller in the cluster"


def _commit(*drifts: Drift) -> Fix:
    return Fix.change(
        drifts[0].ref,
        *live_values(drifts),
        title="The other writer is right: commit the live value to Git",
        risk=WRITES_AGAIN,
    )


def _written_back(case: Case) -> Iterator[Finding]:
    """Fields that self-heal has synced and that differ again."""
    for drifts in case.drifts_by_object(Mechanism.CONTESTED):
        first = drifts[0]
        pointers = [drift.pointer for drift in drifts]
        removable = not any(drift.only_live or drift.is_required for drift in drifts)
        ignored = ignore_fields(case, first.ref, *pointers)
        drop = Fix.remove(
            first.ref,
            *pointers,
            title="Let the other writer own it: remove the field from Git",
            risk=removal_risk(
                case, first.ref, pointers[0], writer="the other writer", ignorable=bool(ignored)
            ),
        )
        yield drift_finding(
            *drifts,
            writer=first.writer,
            confidence=Confidence.LOW,
            verdict=f"a controller or an admission webhook writes {field_names(drifts)} of {first.ref} after"
            " each sync: self-heal has synced this commit, but the value differs again",
            evidence=(
                *both_sides(drifts),
                cite(case.application, "/spec/syncPolicy/automated/selfHeal", says="self-heal is on"),
                cite(case.application, "/status/operationState/phase", says="the last sync succeeded"),
            ),
            fixes=(
                find_writer(first.ref),
                *((drop,) if removable else ()),
                _commit(*drifts),
                server_side_diff(case, webhooks=True),
                *ignored,
            ),
        )


def _confidence(writer: Writer | None) -> Confidence:
    """Low for an unknown manager, which may be a person's script."""
    if writer is None:
        return Confidence.MEDIUM
    return Confidence.LOW if writer.kind is WriterKind.UNKNOWN else Confidence.HIGH
