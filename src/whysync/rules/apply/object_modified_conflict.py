"""The object changed between reading and writing it.

## What happens
Kubernetes refuses a write that is based on an old version of the object. With an object that
somebody else writes often this happens now and then, and the next try passes. If it happens every
time, Git carries a `resourceVersion`, or the object is being deleted and made anew.

## How whysync knows
`the object has been modified`, a UID or resourceVersion that does not match; and it looks for a
`resourceVersion` in Git.

## Fix
Sync again, or let Argo CD retry by itself. Take `metadata.resourceVersion` out of Git.

## When it is something else
`Apply failed with conflicts` names an owner of fields: ssa-conflict.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, rule
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.apply import ConflictModified
from whysync.queries.commands import sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref

VERSION = "/metadata/resourceVersion"
VERSION_REMOVED = "must be specified for an update"
RETRY = "/spec/syncPolicy/retry"


@rule(cause="conflict-modified", since="0.1")
def object_modified_conflict(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ConflictModified, by=lambda failure: failure.resource):
        failure = group.failure
        if VERSION_REMOVED in failure.text:
            continue  # the last-applied annotation is to blame, not a race
        ref = named_ref(case, failure.resource, group.ref)
        pinned = _pinned(case.desired_of(ref.key))
        retries = case.app.spec.sync_policy.retry is not None
        yield Finding(
            about=ref if pinned or not retries else case.application.ref,
            field=VERSION if pinned else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{ref}: Git carries a resourceVersion, which is out of date at once"
            if pinned
            else f"{ref} changed while it was being applied; the next try mostly passes",
            evidence=(
                *group.cited(says="the API server has a newer version of it"),
                *((cite(pinned, VERSION, says="Git pins a version"),) if pinned else ()),
            ),
            fixes=tuple(_fixes(case, pinned, retries=retries)),
        )


def _pinned(desired: Manifest | None) -> Manifest | None:
    return desired if desired is not None and not isinstance(desired.at(VERSION), Missing) else None


def _fixes(case: Case, pinned: Manifest | None, *, retries: bool) -> Iterator[Fix]:
    if pinned is not None:
        yield Fix.remove(pinned.ref, VERSION, title="Take metadata.resourceVersion out of Git")
        return
    yield Fix.run(sync(case, "--retry-limit 3"), title="Sync again")
    if not retries:
        yield Fix.application(
            case.application.ref,
            Set(
                pointer=RETRY,
                value={"limit": 5, "backoff": {"duration": "5s", "factor": 2, "maxDuration": "3m"}},
            ),
            title="Let Argo CD retry by itself",
        )
