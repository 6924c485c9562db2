"""A new commit has not been synced yet.

## What happens
A new commit changes the desired state. Argo CD has compared it and shows the difference. The app is OutOfSync
until someone syncs or auto-sync does: this is expected.

## How whysync knows
Argo CD compared another revision than the one that was synced last. Or the last-applied annotation shows that
Git changed the field after it was applied, and no other manager has written it since.

## Fix
Review the diff, then sync. If auto-sync is on but does not start, check whether the last attempt failed, a
sync window denies it, or an operation is still running.

## When it is something else
If another manager has written the field since, a sync undoes that change. If the compared revision is the
synced one, the cluster has changed, not Git.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Mechanism, Severity, SymptomKind, cite, rule
from whysync.diagnosis.drift.mechanism import has_unsynced_revision
from whysync.diagnosis.sentences import counted
from whysync.diagnosis.symptom import OPERATION
from whysync.queries.commands import app_argument, sync
from whysync.queries.drift import ttl_pointer

_UNSYNCED = (SymptomKind.DIFFERS, SymptomKind.MISSING)


@rule(cause="new-commit", since="0.1", on_absence=True)
def new_commit_not_synced(case: Case) -> Iterator[Finding]:
    if OPERATION in case.symptom_ids:
        return  # a running or failed sync is the cause
    drifts = case.drifts_by(Mechanism.NOT_SYNCED_YET)
    explained = {drift.symptom for drift in drifts}
    never = _was_never_synced(case)
    if has_unsynced_revision(case) or never:
        known = {drift.symptom for drift in case.drifts}
        explained |= {s.id for s in case.symptoms if s.kind in _UNSYNCED and s.id not in known}
    if not explained:
        return
    status = case.app.status
    synced = f"the last sync was to {status.history[-1].revision[:8]}" if status.history else ""
    synced = "it was never synced" if never else synced or "an earlier one was synced"
    waits = "auto-sync has not started" if case.is_automated else "auto-sync is off"
    resources = (
        len({symptom.ref for symptom in case.symptoms if symptom.id in explained and symptom.ref}) or 1
    )
    yield Finding(
        about=case.application.ref,
        explains=tuple(sorted(explained)),
        because=tuple(sorted(explained)),  # what prevents the sync, for example a closed window, comes first
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM if never else Confidence.HIGH,
        verdict=f"Git is at {status.sync.revision[:8] or 'a commit'}, {synced}:"
        f" {counted(resources, 'resource')} to sync, {waits}",
        evidence=(
            cite(case.application, "/status/sync/revision", says="revision compared by Argo CD"),
            cite(case.application, "/status/history", says="synced revisions"),
            *(evidence for drift in drifts[:3] for evidence in drift.cited()),
        ),
        fixes=(
            Fix.run(
                f"argocd app diff {app_argument(case)}",
                sync(case),
                title="Review the diff, then sync",
            ),
        ),
    )


def _was_never_synced(case: Case) -> bool:
    """No sync is recorded and no resource exists; resources with a TTL prove nothing."""
    status = case.app.status
    if status.history or case.operation is not None or status.health.status != "Missing":
        return False
    lasting = [desired for row in status.resources if (desired := case.desired_of(row.key)) is not None]
    return not any(ttl_pointer(desired) for desired in lasting)
