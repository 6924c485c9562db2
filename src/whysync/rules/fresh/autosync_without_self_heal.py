"""Auto-sync does not revert the drift: the commit was already synced, and self-heal is off.

## What happens
Auto-sync syncs each commit once. When the cluster drifts afterwards, or an object is deleted, the commit is
the same, and without self-heal Argo CD does nothing and reports nothing. The app stays OutOfSync until the
next commit or a manual sync.

## How whysync knows
Auto-sync is on, self-heal is off, the last operation succeeded at the revision that is compared, and
resources differ or are missing.

## Fix
Sync manually when the reason for the drift is known; or turn on self-heal, if the cluster must always match
Git.

## When it is something else
The last sync failed at this commit: then Argo CD reports a SyncError. A sync window may be closed, or an
operation is running. If only pruning is left, automatic pruning is off.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, SymptomKind, cite, rule
from whysync.diagnosis.drift.mechanism import has_unsynced_revision
from whysync.queries.commands import sync


@rule(cause="autosync-given-up", since="0.1")
def autosync_without_self_heal(case: Case) -> Iterator[Finding]:
    operation = case.operation
    if not case.is_automated or case.self_heals or operation is None or operation.phase != "Succeeded":
        return
    drift_symptoms = {drift.symptom for drift in case.drifts}
    drifted = tuple(s.id for s in case.symptoms if s.kind is SymptomKind.MISSING or s.id in drift_symptoms)
    result = operation.sync_result
    revision = (result.revision or "".join(result.revisions)) if result is not None else ""
    if not drifted or not revision or has_unsynced_revision(case):
        return
    yield Finding(
        about=case.application.ref,
        because=drifted,
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        verdict=f"auto-sync will not revert this: {revision[:8]} was already synced, and self-heal is off",
        evidence=(
            cite(case.application, "/spec/syncPolicy/automated", says="auto-sync without self-heal"),
            cite(case.application, "/status/operationState/syncResult/revision", says="the synced commit"),
            cite(case.application, "/status/sync/revision", says="the compared commit"),
        ),
        fixes=(
            Fix.run(sync(case), title="Sync manually, when the reason for the drift is known"),
            Fix.application(
                case.application.ref,
                Set(pointer="/spec/syncPolicy/automated/selfHeal", value=True),
                title="Turn on self-heal, so that Argo CD reverts every drift",
                risk="Argo CD then overwrites every other writer of a field that Git declares",
            ),
        ),
    )
