"""The cluster has a field that Git does not declare, and Argo CD calls the resource Synced.

## What happens
A three-way diff compares what Git declares. A field that Git never set (an extra key of a ConfigMap, a
label, `suspend: true`) or that an ignore rule names may be changed by hand, and nothing shows it. It works
until somebody rebuilds the cluster from Git, or wonders where it comes from.

## How whysync knows
The resource is Synced, the live object has a value that Git has not, and managedFields name kubectl or a
console as its writer, or a former manager from which server-side apply does not remove it. Without
managedFields: no default, no known controller and no bookkeeping of a program explains the field.

## Fix
Decide the direction: bring the value into Git, or remove it from the cluster. Server-side diff shows more of
these than a three-way one.

## When it is something else
Defaults of the API server, status, and what controllers write are no drift, and are not told here.
"""

import json
from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Fact, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.drift.schemas import crd_of
from whysync.diagnosis.symptom import APP_DIFFERS
from whysync.json_tree import Missing
from whysync.kubernetes.api.pointer import index_of, split
from whysync.kubernetes.field_writers import phrase
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER
from whysync.queries.commands import on_object
from whysync.queries.hidden_drift import BY_HAND, HiddenDifference, hidden_by_ignoring, undetected


@rule(cause="undetected-drift", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def undetected_drift(case: Case) -> Iterator[Finding]:
    by_object: dict[str, list[HiddenDifference]] = {}
    hidden = (
        difference
        for difference in hidden_by_ignoring(case)
        if difference.writer and difference.writer.kind in BY_HAND
    )
    for unseen in (*hidden, *undetected(case)):
        known = by_object.setdefault(str(unseen.key), [])
        if all(other.pointer != unseen.pointer for other in known):
            known.append(unseen)
    contradiction = APP_DIFFERS in case.symptom_ids
    for group in by_object.values():
        first = group[0]
        names = ", ".join(difference.pointer for difference in group[:3])
        who = f"was written with {phrase(first.writer)}" if first.writer else _origin(case, first)
        why = f"{first.rule.origin} hides it" if first.rule else "Argo CD's diff does not show it"
        yield Finding(
            about=first.live.ref,
            field=first.pointer,
            writer=first.writer,
            explains=(APP_DIFFERS,) if contradiction else (),
            severity=Severity.WARNING if contradiction else Severity.INFO,
            confidence=_confidence(first),
            verdict=f"{names} of {first.live.ref} {who}, and {why}",
            evidence=tuple(_cited(group)),
            fixes=(
                *_committed(group),
                *_undone(group),
            ),
        )


def _origin(case: Case, hidden: HiddenDifference) -> str:
    """The readings of a field that only the cluster has, without a record of its writer."""
    if hidden.pointer == LAST_APPLIED_POINTER:
        return "is an old copy left by client-side apply, which server-side apply does not update"
    if is_builtin(hidden.live.ref):
        who = "someone or something"
    elif crd_of(case, hidden.live.ref) is None:
        who = "someone, its operator or a default of its CRD"
    else:
        who = "someone or its operator"
    return f"is only in the cluster ({who} added it, or Git declared it once)"


def _confidence(hidden: HiddenDifference) -> Confidence:
    if hidden.writer is not None:
        return Confidence.HIGH
    return Confidence.MEDIUM if is_builtin(hidden.live.ref) else Confidence.LOW


def _committed(group: list[HiddenDifference]) -> Iterator[Fix]:
    values = [
        Set(pointer=hidden.pointer, value=hidden.difference.live_value)
        for hidden in group
        if hidden.pointer != LAST_APPLIED_POINTER and not isinstance(hidden.difference.live_value, Missing)
    ]
    if values:
        yield Fix.change(group[0].live.ref, *values, title="The cluster is right: bring the value into Git")


def _undone(group: list[HiddenDifference]) -> Iterator[Fix]:
    """A sync does not do it: Argo CD sees no difference. Git's values may be masked: only what Git lacks."""
    extra = [hidden.pointer for hidden in group if isinstance(hidden.difference.desired_value, Missing)]
    if not extra or any(index_of(part) is not None for pointer in extra for part in split(pointer)):
        return
    patch = json.dumps([{"op": "remove", "path": pointer} for pointer in extra])
    yield Fix.run(
        on_object("patch", group[0].live.ref, "--type", "json", "-p", patch),
        title="Git is right: remove it from the cluster",
        risk="ask first whether somebody is in the middle of an incident",
        destroys=tuple(f"the live value at {pointer}" for pointer in extra),
    )


def _cited(group: list[HiddenDifference]) -> Iterator[Evidence]:
    for hidden in group[:5]:
        yield cite(hidden.live, hidden.pointer, says="the cluster has this")
        yield cite(hidden.desired, hidden.pointer, says="Git has this")
