"""A resource that Git declares was deleted from the cluster.

## What happens
The object was deleted (by hand, by another tool, by a controller), or it was never created. Argo CD shows
it as Missing and OutOfSync. Self-heal creates it again; without self-heal it stays missing until the next
sync.

## How whysync knows
The resource is OutOfSync and Missing, no sync is running, and the app was synced before. The result of the
last sync or an event shows that the object existed.

## Fix
Sync this resource. If it disappears again, something in the cluster deletes it: check the audit log, owner
references and TTLs. If it was deleted on purpose, remove its manifest from Git.

## When it is something else
A finished Job with `ttlSecondsAfterFinished` was deleted by its TTL. If the commit has not been synced yet,
the object was never created.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, SymptomKind, cite, cite_if, rule
from whysync.diagnosis.drift.mechanism import has_unsynced_revision
from whysync.diagnosis.symptom import SymptomId
from whysync.kubernetes.api.ref import Key
from whysync.queries.commands import refresh, sync
from whysync.queries.drift import ttl_pointer
from whysync.queries.removed_apis import removal_of_row

_GONE = ("Deleted", "Killing", "SuccessfulDelete", "ResourceDeleted")


@rule(cause="deleted-live", since="0.1")
def deleted_from_cluster(case: Case) -> Iterator[Finding]:
    if has_unsynced_revision(case) or (not case.app.status.history and case.operation is None):
        return  # it may never have been created
    rows = {row.key: index for index, row in enumerate(case.app.status.resources)}
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.MISSING or symptom.ref is None or symptom.because:
            continue
        key: Key = symptom.ref.key
        if case.live_of(key) is not None:
            continue  # it exists, but Argo CD does not see it
        if SymptomId.result(key) in case.symptom_ids:
            continue  # the sync failed to create it
        desired = case.desired_of(key)
        if desired is None and removal_of_row(case.app.status.resources[rows[key]]) is not None:
            continue  # the cluster does not serve its API version, so that Argo CD cannot see it
        if desired is not None and ttl_pointer(desired) is not None:
            continue
        manifests = [m for m, e in case.events_about(symptom.ref) if e.reason in _GONE]
        applied_at = _pointer_of_sync_result(case, key)
        yield Finding(
            about=symptom.ref,
            explains=(symptom.id,),
            confidence=Confidence.HIGH if manifests or applied_at else Confidence.MEDIUM,
            verdict=f"{symptom.ref} was deleted from the cluster, but Git declares it",
            evidence=(
                cite(case.application, f"/status/resources/{rows[key]}", says="Missing and OutOfSync"),
                *cite_if(case.application, applied_at, says="the last sync applied it"),
                *(cite(manifest, "/message", says="its deletion") for manifest in manifests),
            ),
            fixes=(
                Fix.run(
                    sync(case, "--resource", quote(f"{key.group}:{key.kind}:{symptom.ref.place}")),
                    title="Sync this resource to create it again",
                    risk="if something deletes it, it will be deleted again",
                ),
                Fix.run(
                    f"git grep -n {quote(f'name: {key.name}')}   # where Git declares it",
                    refresh(case),
                    title="It was deleted on purpose: remove its manifest from Git",
                ),
            ),
        )


def _pointer_of_sync_result(case: Case, key: Key) -> str:
    """The entry of the last sync that reports the object as applied; empty if there is none."""
    result = case.operation.sync_result if case.operation is not None else None
    for index, resource_result in enumerate(result.resources if result is not None else ()):
        if (
            resource_result.key == key
            and resource_result.status == "Synced"
            and not resource_result.hook_type
        ):
            return f"/status/operationState/syncResult/resources/{index}"
    return ""
