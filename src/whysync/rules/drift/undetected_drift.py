"""The cluster differs from Git by somebody's hand, and Argo CD calls the resource Synced.

## What happens
A three-way diff compares what Git declares. A field that Git never set (an extra key of a ConfigMap, a
label, `suspend: true`) or that an ignore rule names may be changed by hand, and nothing shows it. It works
until somebody rebuilds the cluster from Git, or wonders where it comes from.

## How whysync knows
The resource is Synced, the live object has a value that Git has not, and managedFields say that kubectl or a
console wrote it. Without managedFields: it is a field that neither defaults nor controllers fill in.

## Fix
Decide the direction: bring the value into Git, or remove it from the cluster. Server-side diff shows more of
these than a three-way one.

## When it is something else
Defaults of the API server, status, and what controllers write are no drift, and are not told here.
"""

import json
from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Fact, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.symptom import APP_DIFFERS
from whysync.json_tree import Missing
from whysync.kubernetes.api.pointer import index_of, split
from whysync.kubernetes.field_writers import phrase
from whysync.queries.commands import on_object
from whysync.queries.hidden_drift import BY_HAND, HiddenDifference, hidden_by_ignoring, unseen_by_hand


@rule(cause="undetected-drift", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def undetected_drift(case: Case) -> Iterator[Finding]:
    by_object: dict[str, list[HiddenDifference]] = {}
    hidden = (
        difference
        for difference in hidden_by_ignoring(case)
        if difference.writer and difference.writer.kind in BY_HAND
    )
    for unseen in (*hidden, *unseen_by_hand(case)):
        known = by_object.setdefault(str(unseen.key), [])
        if all(other.pointer != unseen.pointer for other in known):
            known.append(unseen)
    contradiction = APP_DIFFERS in case.symptom_ids
    for group in by_object.values():
        first = group[0]
        names = ", ".join(difference.pointer for difference in group[:3])
        who = f"was written with {phrase(first.writer)}" if first.writer else "is not Git's"
        why = f"{first.rule.origin} hides it" if first.rule else "Argo CD's diff does not show it"
        yield Finding(
            about=first.live.ref,
            field=first.pointer,
            writer=first.writer,
            explains=(APP_DIFFERS,) if contradiction else (),
            severity=Severity.WARNING if contradiction else Severity.INFO,
            confidence=Confidence.HIGH if first.writer else Confidence.MEDIUM,
            verdict=f"{names} of {first.live.ref} {who}, and {why}",
            evidence=tuple(_cited(group)),
            fixes=(
                Fix.change(
                    first.live.ref,
                    *(
                        Set(pointer=difference.pointer, value=difference.difference.found)
                        for difference in group
                        if not isinstance(difference.difference.found, Missing)
                    ),
                    title="The cluster is right: bring the value into Git",
                ),
                *_undone(group),
            ),
        )


def _undone(group: list[HiddenDifference]) -> Iterator[Fix]:
    """A sync does not do it: Argo CD sees no difference. Git's values may be masked: only what Git lacks."""
    extra = [hidden.pointer for hidden in group if isinstance(hidden.difference.wanted, Missing)]
    if not extra or any(index_of(part) is not None for pointer in extra for part in split(pointer)):
        return
    patch = json.dumps([{"op": "remove", "path": pointer} for pointer in extra])
    yield Fix.run(
        on_object("patch", group[0].live.ref, "--type", "json", "-p", patch),
        title="Git is right: take it out of the cluster",
        risk="ask first whether somebody is in the middle of an incident",
        destroys=tuple(f"the value that was set by hand at {pointer}" for pointer in extra),
    )


def _cited(group: list[HiddenDifference]) -> Iterator[Evidence]:
    for hidden in group[:5]:
        yield cite(hidden.live, hidden.pointer, says="the cluster has this")
        yield cite(hidden.desired, hidden.pointer, says="Git has this")
