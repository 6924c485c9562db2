"""Argo CD calls a resource OutOfSync, and compared here nothing differs.

## What happens
The row says OutOfSync. Both objects are at hand, and compared by the rules that Argo CD has today they are
the same. Then the row is older than the objects (somebody has just mended it, or nobody has compared since),
or this Argo CD compares by other rules: an older version, other settings, a server-side diff that sees more.

## How whysync knows
It compares Git's object and the live one itself, as Argo CD does, and then field by field without any rules.
Nothing else that it knows explains the row.

## Fix
Refresh. If the row stays OutOfSync, let Argo CD show its own difference: `argocd app diff`.

## When it is something else
A Secret's values are masked here, so a difference inside them cannot be seen. Rows that an ignore rule should
hide: ignore-rule-miss.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import items
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import app_argument, refresh
from whysync.queries.resource_rows import row_evidence
from whysync.queries.timestamps import instant
from whysync.queries.waiting_on import is_running


@rule(cause="stale-state", since="0.1", last_resort=True, on_absence=True)
def stale_out_of_sync(case: Case) -> Iterator[Finding]:
    if is_running(case) or any(c.type.endswith("Error") for c in case.app.status.conditions):
        return  # it will be compared anew, or could not be
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
            verdict=f"{row.ref} is called OutOfSync, and compared here nothing differs:"
            + (
                " it has changed since Argo CD compared it"
                if written_at
                else " the comparison is old, or this Argo CD compares by other rules"
            ),
            evidence=(
                row_evidence(case, row, says="what Argo CD says"),
                cite(case.application, "/status/reconciledAt", says="when it compared"),
                *((cite(live, written_at, says="when it was last written"),) if written_at else ()),
            ),
            fixes=(
                Fix.run(
                    refresh(case),
                    f"argocd app diff {app_argument(case)}",
                    title="Compare anew; if it stays OutOfSync, see what Argo CD itself shows",
                ),
            ),
        )


def _written_since(case: Case, live: Manifest) -> str:
    """Where the live object says that somebody wrote it after Argo CD compared; empty where it does not."""
    compared = case.app.status.reconciled_at
    for index, _ in enumerate(items(live.meta.get("managedFields"))):
        pointer = f"/metadata/managedFields/{index}/time"
        written = instant(live.at(pointer))
        if compared is not None and written is not None and written > compared:
            return pointer
    return ""
