"""Git declares a field that is not in the schema, so the API server drops it.

## What happens
The API server drops fields that are not in the schema of a kind: a misspelled name, a field at the wrong
level, a field of a newer version of Kubernetes or of the CRD than the installed one. The apply succeeds
without the field, and the difference remains after every sync.

## How whysync knows
Git declares the field and was synced, but the live object does not have it. The field is not in the API
description of Kubernetes (built-in kinds) or, if the CRD is available, not in its schema (custom resources).

## Fix
Correct the name or the position of the field, or delete it, or install a version that supports it. If a
similar field exists at the same position, fits the value and is not set in Git, whysync suggests that name.
With `Validate=true` and strict field validation the next sync fails instead of dropping the field.

## When it is something else
An empty or `false` value that the API server omits is equivalent on both sides. If someone removed the
field by hand, managedFields or the audit log show it.
"""

import json
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
from whysync.diagnosis.drift.field_heuristics import is_of_wrong_type
from whysync.diagnosis.drift.schemas import builtin_has_field, missing_in_crd
from whysync.diagnosis.fix import Edit
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import Missing
from whysync.kubernetes.api.pointer import split
from whysync.queries.commands import kubectl, with_comment
from whysync.queries.drift import drift_finding, field_names
from whysync.queries.misspelt_fields import intended_field


@rule(cause="unknown-field-dropped", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def unknown_field_dropped(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.DROPPED):
        first = drifts[0]
        proof = tuple(_proof(case, drifts))
        proven = bool(proof) or builtin_has_field(first.ref, first.pointer) is False
        names = field_names(drifts)
        why = (
            f"not in the schema of {first.ref.kind}"
            if proven
            else f"most likely not in the installed schema of {first.ref.kind}"
        )
        quoted = tuple(_as_text(drifts))
        if quoted:
            why = "its value in Git is not a string"
        newer = not (quoted or proven) and all(
            not drift.only_git or builtin_has_field(drift.ref, drift.pointer) for drift in drifts
        )
        if newer:
            why = "this cluster's Kubernetes is most likely older than the field"
        yield drift_finding(
            *drifts,
            confidence=Confidence.HIGH if proven and not quoted else Confidence.MEDIUM,
            verdict=f"the API server drops {names} of {first.ref}: {why}",
            evidence=(*_sides(drifts), *proof),
            fixes=(Fix.change(first.ref, *quoted, title="Write the value as a string in Git"),)
            if quoted
            else tuple(_of_newer_fields(drifts))
            if newer
            else (
                _corrected(case, drifts)
                or Fix.run(
                    kubectl("explain", first.ref.kind, f"--api-version={first.ref.api_version}"),
                    title="Look up the field's name and position, and correct it in Git",
                ),
                Fix.remove(
                    first.ref,
                    *(d.pointer for d in drifts),
                    title="Delete the field from Git",
                    risk="the intended setting stays unset: look for the correct name first",
                ),
            ),
        )


def _as_text(drifts: tuple[Drift, ...]) -> Iterator[Edit]:
    """Edits that quote the values, if all of them are entries of a map of strings."""
    if all(map(is_of_wrong_type, drifts)):
        for drift in drifts:
            if not isinstance(drift.desired_value, Missing):
                yield Set(pointer=drift.pointer, value=json.dumps(drift.desired_value))


def _sides(drifts: tuple[Drift, ...]) -> Iterator[Evidence]:
    """Both sides; a live object without the field has no value, although Argo CD compares with a default."""
    for drift in drifts:
        if drift.only_git:
            yield from drift.cited()
            continue
        yield cite(drift.desired, drift.pointer, says="declared in Git")
        default = "" if isinstance(drift.live_value, Missing) else json.dumps(drift.live_value)
        yield cite(
            drift.live, drift.pointer, says=f"not in the cluster; Argo CD compares with the default {default}"
        )


def _of_newer_fields(drifts: tuple[Drift, ...]) -> Iterator[Fix]:
    """The name is right: Kubernetes 1.36 has the field, and this cluster drops it."""
    first = drifts[0]
    path = ".".join(
        (first.ref.kind.lower(), *(part for part in split(first.pointer) if not part.isdecimal()))
    )
    yield Fix.remove(
        first.ref,
        *(drift.pointer for drift in drifts),
        title="Delete the field from Git until the cluster knows it",
        risk="the intended setting stays unset, as now: declare it again after an upgrade",
    )
    yield Fix.run(
        with_comment(kubectl("version"), "the version of the cluster"),
        with_comment(
            kubectl("explain", path, f"--api-version={first.ref.api_version}"),
            "an error: it does not know the field",
        ),
        title="Or upgrade Kubernetes to a version that has the field",
        risk="an upgrade affects everything in the cluster",
    )


def _corrected(case: Case, drifts: tuple[Drift, ...]) -> Fix | None:
    """The fix with the intended field names, if all are known; its risk is what changes in the cluster."""
    edits: list[Edit] = []
    named: list[str] = []
    changes: list[str] = []
    for drift in drifts:
        intended = intended_field(case, drift.ref, drift.pointer)
        if intended is None or isinstance(drift.desired_value, Missing):
            return None
        name = split(intended)[-1]
        edits += [Remove(pointer=drift.pointer), Set(pointer=intended, value=drift.desired_value)]
        named.append(f"{name} instead of {drift.last_key}")
        if isinstance(drift.desired_value, str | int):
            now = drift.live.at(intended)
            was = "unset" if isinstance(now, Missing) else one_line(str(now))
            changes.append(f"{name} becomes {one_line(str(drift.desired_value))} in the cluster, {was} now")
    if any(split(drift.pointer)[:2] == ("spec", "template") for drift in drifts):
        changes.append("its Pods are restarted")
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
            yield cite(crd, "/metadata/name", says=f"its schema has only {names} at {pointer}")
