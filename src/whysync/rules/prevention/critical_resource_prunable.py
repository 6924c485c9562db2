"""An object that contains data is pruned when it is removed from Git.

## Why
The Application prunes by itself: a renamed file or a wrong path in Git deletes the claim, and its data too. A
Namespace and a CRD take everything with them that they contain.

## Fix
Annotate the object with `argocd.argoproj.io/sync-options: Prune=false`.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd import hooks
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.rule import Topic, rule
from whysync.queries.sync_options import LOST_WITH, keeps_from_pruning, with_options


@rule(topic=Topic.DATA, severity=Severity.WARNING, cause="prunable-data", since="0.2")
def critical_resource_prunable(case: Case) -> Iterator[Finding]:
    if not case.prunes or case.has_sync_option("Prune=false") or case.has_sync_option("Prune=confirm"):
        return
    for row in case.app.status.resources:
        lost = LOST_WITH.get(row.kind)
        known = case.desired_of(row.key) or case.live_of(row.key)
        if lost is None or known is None or keeps_from_pruning(known.body):
            continue
        yield Finding(
            about=row.ref,
            verdict=f"the app prunes it when it leaves Git, and {lost} goes too",
            confidence=Confidence.HIGH,
            severity=Severity.WARNING if row.kind.startswith("Persistent") else Severity.INFO,
            fixes=(
                Fix.change(
                    known.ref,
                    with_options(known, "Prune=false"),
                    title=f"Annotate it in Git with {hooks.SYNC_OPTIONS}: Prune=false",
                ),
            ),
        )
