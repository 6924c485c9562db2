"""Git declares it, and the cluster does not have it.

## What happens
The object was deleted (by hand, by another tool, by a controller), or it was never created. Argo CD shows
it as Missing and OutOfSync. With self-heal it comes back by itself; without, it stays away.

## How whysync knows
The row is OutOfSync and Missing, no sync is under way, and the object was part of the app before: the
result of the last sync, or an event of the cluster, leaves no doubt.

## Fix
Sync that one resource. If it vanishes again, something in the cluster deletes it: look at the audit log,
at owner references, at a TTL. If it was deleted on purpose, take its manifest out of Git.

## When it is something else
A finished Job with `ttlSecondsAfterFinished` was deleted by its TTL. A commit that nobody has synced yet
declares objects that were never made.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, SymptomKind, cite, rule
from whysync.diagnosis.drift.mechanism import has_unsynced_revision
from whysync.kubernetes.api.ref import Key
from whysync.queries.commands import refresh, sync
from whysync.queries.ttl import ttl_pointer

_GONE = ("Deleted", "Killing", "SuccessfulDelete", "ResourceDeleted")


@rule(cause="deleted-live", since="0.1")
def deleted_from_cluster(case: Case) -> Iterator[Finding]:
    if has_unsynced_revision(case) or (not case.app.status.history and case.operation is None):
        return  # it may never have been made
    rows = {row.key: index for index, row in enumerate(case.app.status.resources)}
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.MISSING or symptom.ref is None or symptom.because:
            continue
        key: Key = symptom.ref.key
        if case.live_of(key) is not None:
            continue  # it is there: Argo CD does not see it
        desired = case.desired_of(key)
        if desired is not None and ttl_pointer(desired) is not None:
            continue
        manifests = [m for m, e in case.events_about(symptom.ref) if e.reason in _GONE]
        made = _made_by_the_last_sync(case, key)
        yield Finding(
            about=symptom.ref,
            explains=(symptom.id,),
            confidence=Confidence.HIGH if manifests or made else Confidence.MEDIUM,
            verdict=f"{symptom.ref} is declared in Git and gone from the cluster",
            evidence=(
                cite(case.application, f"/status/resources/{rows[key]}", says="Argo CD misses it"),
                *((cite(case.application, made, says="the last sync applied it"),) if made else ()),
                *(cite(manifest, "/message", says="the cluster tells of its end") for manifest in manifests),
            ),
            fixes=(
                Fix.run(
                    sync(case, "--resource", quote(f"{key.group}:{key.kind}:{symptom.ref.place}")),
                    title="Sync this one resource: it is made anew",
                    risk="if something deletes it, it will be deleted again",
                ),
                Fix.run(
                    f"git grep -n {quote(f'name: {key.name}')}   # where Git declares it",
                    refresh(case),
                    title="Or it was deleted on purpose: take its manifest out of Git",
                ),
            ),
        )


def _made_by_the_last_sync(case: Case, key: Key) -> str:
    """Where the last sync says that it applied the object; empty where it does not."""
    result = case.operation.sync_result if case.operation is not None else None
    for index, resource_result in enumerate(result.resources if result is not None else ()):
        if (
            resource_result.key == key
            and resource_result.status == "Synced"
            and not resource_result.hook_type
        ):
            return f"/status/operationState/syncResult/resources/{index}"
    return ""
