"""The object was modified between reading and writing it.

## What happens
Kubernetes rejects a write that is based on an old version of the object. This happens occasionally with an
object that others write often, and the next attempt succeeds. If it happens every time, Git contains a
`resourceVersion`, or the object is being deleted and recreated.

## How whysync knows
`the object has been modified`, or a UID or resourceVersion that does not match; and a `resourceVersion` in
Git.

## Fix
Sync again, or let Argo CD retry. Remove `metadata.resourceVersion` from Git.

## When it is something else
`Apply failed with conflicts` names the owner of a field: ssa-conflict.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite_if, rule
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.apply import ConflictModified
from whysync.queries.commands import sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref

VERSION = "/metadata/resourceVersion"
RETRY = "/spec/syncPolicy/retry"


@rule(cause="conflict-modified", since="0.1")
def object_modified_conflict(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ConflictModified, by=lambda failure: failure.resource):
        failure = group.failure
        if failure.removes_version:
            continue  # caused by the last-applied annotation, not by a race
        ref = named_ref(case, failure.resource, group.ref)
        pinned = _pinned(case.desired_of(ref.key))
        retries = case.app.spec.sync_policy.retry is not None
        yield Finding(
            about=ref if pinned or not retries else case.application.ref,
            field=VERSION if pinned else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{ref}: Git contains a resourceVersion, which is outdated after the first write"
            if pinned
            else f"{ref} was modified while it was being applied; the next attempt usually succeeds",
            evidence=(
                *group.cited(says="the API server has a newer version of it"),
                *cite_if(pinned, VERSION, says="the version in Git"),
            ),
            fixes=tuple(_fixes(case, pinned, retries=retries)),
        )


def _pinned(desired: Manifest | None) -> Manifest | None:
    return desired if desired is not None and not isinstance(desired.at(VERSION), Missing) else None


def _fixes(case: Case, pinned: Manifest | None, *, retries: bool) -> Iterator[Fix]:
    if pinned is not None:
        yield Fix.remove(pinned.ref, VERSION, title="Remove metadata.resourceVersion from Git")
        return
    yield Fix.run(sync(case, "--retry-limit 3"), title="Sync again")
    if not retries:
        yield Fix.application(
            case.application.ref,
            Set(
                pointer=RETRY,
                value={"limit": 5, "backoff": {"duration": "5s", "factor": 2, "maxDuration": "3m"}},
            ),
            title="Let Argo CD retry automatically",
        )
