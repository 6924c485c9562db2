"""Argo CD reports a resource as OutOfSync, but nothing differs.

## What happens
The row is OutOfSync. Both objects are in the facts, and they are equal by the rules of the current Argo CD.
Then the row is older than the objects (the drift was just fixed, or nothing was compared since), or this
Argo CD compares differently: an older version, other settings, a server-side diff.

## How whysync knows
It compares the desired and the live object as Argo CD does, and then field by field without any rules. No
other rule explains the row.

## Fix
Refresh. If the row stays OutOfSync, let Argo CD show its own difference: `argocd app diff`.

## When it is something else
The values of a Secret are masked here, so a difference in them is not visible. Rows that an ignore rule
should hide: ignore-rule-miss.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, cite_if, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import items
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import app_argument, refresh
from whysync.queries.timestamps import instant
from whysync.queries.waiting_on import is_running


@rule(cause="stale-state", since="0.1", last_resort=True, on_absence=True)
def stale_out_of_sync(case: Case) -> Iterator[Finding]:
    if is_running(case) or any(c.type.endswith("Error") for c in case.app.status.conditions):
        return  # it will be compared again, or could not be compared
    for row in case.app.status.resources:
        symptom = SymptomId.differs(row.key)
        live = case.live_of(row.key)
        if live is None or case.desired_of(row.key) is None or row.kind == "Secret":
            continue
        if symptom not in case.symptom_ids:
            continue
        written_at = _written_since(case, live)
        yield Finding(
            about=row.ref,
            explains=(symptom,),
            confidence=Confidence.MEDIUM if written_at else Confidence.LOW,
            verdict=f"{row.ref} is reported as OutOfSync, but nothing differs:"
            + (
                " it was changed after Argo CD compared it"
                if written_at
                else " the comparison is stale, or this Argo CD compares differently"
            ),
            evidence=(
                case.cited_row(row, says="Argo CD's status"),
                cite(case.application, "/status/reconciledAt", says="when it was compared"),
                *cite_if(live, written_at, says="when it was last written"),
            ),
            fixes=(
                Fix.run(
                    refresh(case),
                    f"argocd app diff {app_argument(case)}",
                    title="Refresh; if it stays OutOfSync, let Argo CD show the difference",
                ),
            ),
        )


def _written_since(case: Case, live: Manifest) -> str:
    """The time of a write after Argo CD compared, as a pointer into managedFields; empty if there is none."""
    compared = case.app.status.reconciled_at
    for index, _ in enumerate(items(live.meta.get("managedFields"))):
        pointer = f"/metadata/managedFields/{index}/time"
        written = instant(live.at(pointer))
        if compared is not None and written is not None and written > compared:
            return pointer
    return ""
