"""An object that contains data is pruned when it is removed from Git.

## Why
The Application prunes automatically: a renamed file or a wrong path in Git deletes the
PersistentVolumeClaim and its data. Deleting a Namespace or a CRD also deletes everything in it.

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


@rule(topic=Topic.DATA, severity=Severity.WARNING, cause="prunable-data", since="0.1")
def critical_resource_prunable(case: Case) -> Iterator[Finding]:
    if not case.prunes or case.has_sync_option("Prune=false") or case.has_sync_option("Prune=confirm"):
        return
    for row in case.app.status.resources:
        lost = LOST_WITH.get(row.kind)
        manifest = case.desired_of(row.key) or case.live_of(row.key)
        if lost is None or manifest is None or keeps_from_pruning(manifest.body):
            continue
        yield Finding(
            about=row.ref,
            verdict=f"the app prunes it if it is removed from Git, which also deletes {lost}",
            confidence=Confidence.HIGH,
            severity=Severity.WARNING if row.kind.startswith("Persistent") else Severity.INFO,
            fixes=(
                Fix.change(
                    manifest.ref,
                    with_options(manifest, "Prune=false"),
                    title=f"Annotate it in Git with {hooks.SYNC_OPTIONS}: Prune=false",
                ),
            ),
        )
