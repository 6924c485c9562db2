"""Git declares a field that the cluster does not keep.

## What happens
The API server drops what the schema of a kind does not know: a misspelt name, a field at the wrong depth, a
field of a newer version of Kubernetes or of the CRD than the one installed. The apply succeeds, the field
never arrives, and the difference stays after every sync.

## How whysync knows
Git has the field, the cluster does not, although Git was synced. For built-in kinds the API description of
Kubernetes does not know the field; for custom resources the CRD's schema does not, where it is at hand.

## Fix
Correct the name or the place of the field, or delete it; or install the version that knows it. A near name
beside it, which Git does not set and which takes such a value, is offered first, and tried. With
`Validate=true` and strict checks the mistake is refused at the next sync instead of dropped.

## When it is something else
An empty or `false` value that the API server does not keep means the same on both sides. Somebody may have
removed the field by hand: then managedFields or the audit log tell.
"""

from collections.abc import Iterator

from whysync.diagnosis import (
    Case,
    Confidence,
    Drift,
    Evidence,
    Fact,
    Finding,
    Fix,
    Mechanism,
    Remove,
    Set,
    cite,
    rule,
)
from whysync.diagnosis.drift.schemas import builtin_has_field, missing_in_crd
from whysync.diagnosis.fix import Edit
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import Missing
from whysync.kubernetes.api.pointer import split
from whysync.queries.commands import kubectl
from whysync.queries.drift import both_sides, drift_finding, field_names
from whysync.queries.misspelt_fields import intended_field


@rule(cause="unknown-field-dropped", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def unknown_field_dropped(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.DROPPED):
        first = drifts[0]
        proof = tuple(_proof(case, drifts))
        proven = bool(proof) or builtin_has_field(first.ref, first.pointer) is False
        names = field_names(drifts)
        why = (
            f"the schema of {first.ref.kind} does not know it"
            if proven
            else f"the {first.ref.kind} installed most likely does not know it"
        )
        yield drift_finding(
            *drifts,
            confidence=Confidence.HIGH if proven else Confidence.MEDIUM,
            verdict=f"{names} of {first.ref} never arrives in the cluster: {why}",
            evidence=(*both_sides(drifts), *proof),
            fixes=(
                _corrected(case, drifts)
                or Fix.run(
                    kubectl("explain", first.ref.kind, f"--api-version={first.ref.api_version}"),
                    title="Look up how the field is called and where it belongs, and correct it in Git",
                ),
                Fix.remove(
                    first.ref,
                    *(d.pointer for d in drifts),
                    title="Delete it from Git",
                    risk="what it was meant to set stays unset: look for the right name first",
                ),
            ),
        )


def _corrected(case: Case, drifts: tuple[Drift, ...]) -> Fix | None:
    """Under its right name, where a near one is plain; what that changes in the cluster is the risk."""
    edits: list[Edit] = []
    named: list[str] = []
    changes: list[str] = []
    for drift in drifts:
        right = intended_field(case, drift.ref, drift.pointer)
        if right is None or isinstance(drift.desired_value, Missing):
            return None
        name = split(right)[-1]
        edits += [Remove(pointer=drift.pointer), Set(pointer=right, value=drift.desired_value)]
        named.append(f"{name} instead of {drift.last_key}")
        if isinstance(drift.desired_value, str | int):
            now = drift.live.at(right)
            was = "unset" if isinstance(now, Missing) else one_line(str(now))
            changes.append(f"{name} becomes {one_line(str(drift.desired_value))} in the cluster, {was} now")
    if any(split(drift.pointer)[:2] == ("spec", "template") for drift in drifts):
        changes.append("its pods are restarted")
    return Fix.change(
        drifts[0].ref, *edits, title=f"Correct the name: {', '.join(named)}", risk="; ".join(changes)
    )


def _proof(case: Case, drifts: tuple[Drift, ...]) -> Iterator[Evidence]:
    for drift in drifts:
        lacking = missing_in_crd(case, drift.ref, drift.pointer)
        if lacking is not None:
            crd, pointer = lacking
            known = crd.at(pointer)
            names = ", ".join(sorted(known)) if isinstance(known, dict) else "nothing"
            yield cite(crd, "/metadata/name", says=f"its schema at {pointer} knows only {names}")
