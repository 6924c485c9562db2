"""The object was modified between reading and writing it.

## What happens
Kubernetes rejects a write that is based on an old version of the object. This happens occasionally with an
object that others write often, and the next attempt succeeds. If it happens every time, Git contains a
`resourceVersion`, `Replace=true` meets a program that writes all the time, or the object is being deleted and
recreated.

## How whysync knows
`the object has been modified`, or a UID or resourceVersion that does not match; and a `resourceVersion` in
Git.

## Fix
Sync again, or let Argo CD retry. After several failed attempts, find who writes the object all
the time. Remove `metadata.resourceVersion` from Git.

## When it is something else
`Apply failed with conflicts` names the owner of a field: ssa-conflict.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite_if, rule
from whysync.json_tree import Missing
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import ConflictModified
from whysync.queries.attempts import CHANCE, attempts, retries_set
from whysync.queries.commands import app_argument, comment, on_object, sync, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import find_object, is_unnamed, named_ref, object_text, placed
from whysync.queries.sync_options import has_option

VERSION = "/metadata/resourceVersion"
RETRY = "/spec/syncPolicy/retry"
REPLACE = "Replace=true"


@rule(cause="conflict-modified", since="0.1")
def object_modified_conflict(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ConflictModified, by=lambda failure: failure.resource):
        failure = group.failure
        if failure.removes_version:
            continue  # caused by the last-applied annotation, not by a race
        ref = named_ref(case, failure.resource, group.ref)
        pinned = _pinned(case.desired_of(ref.key))
        retries = retries_set(case)
        yield Finding(
            about=ref if pinned or not retries or attempts(case) > CHANCE else case.application.ref,
            field=VERSION if pinned else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{ref}: Git contains a resourceVersion, which is outdated after the first write"
            if pinned
            else f"{_what(case, ref)} was modified while it was being applied{_how_often(case)}",
            evidence=(
                *group.cited(says="the API server has a newer version of it"),
                *cite_if(pinned, VERSION, says="the version in Git"),
            ),
            fixes=tuple(_fixes(case, ref, pinned, retries=retries)),
        )


def _what(case: Case, ref: Ref) -> str:
    """Some messages name no object; the Application is not what was applied."""
    return object_text(case, ref)


def _pinned(desired: Manifest | None) -> Manifest | None:
    return desired if desired is not None and not isinstance(desired.at(VERSION), Missing) else None


def _managers(case: Case, ref: Ref) -> str:
    return with_comment(
        on_object("get", placed(case, ref), "--show-managed-fields", "-o", "yaml"),
        "a manager with a new time in each output writes all the time",
    )


def _how_often(case: Case) -> str:
    times = attempts(case)
    return f", in {times} attempts" if times > CHANCE else "; the next attempt usually succeeds"


def _fixes(case: Case, ref: Ref, pinned: Manifest | None, *, retries: bool) -> Iterator[Fix]:
    if pinned is not None:
        yield Fix.remove(pinned.ref, VERSION, title="Remove metadata.resourceVersion from Git")
        return
    if attempts(case) > CHANCE:
        yield Fix.run(
            with_comment(
                f"argocd app manifests {app_argument(case)} --source git | grep -n resourceVersion",
                "must print nothing: remove it from Git",
            ),
            *find_object(case, ref),
            *(() if is_unnamed(case, ref) else (_managers(case, ref),)),
            *_replaced(case, ref),
            sync(case),
            title="Find what writes it all the time, or a resourceVersion in Git, then sync",
        )
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


def _replaced(case: Case, ref: Ref) -> Iterator[str]:
    desired = case.desired_of(ref.key)
    if case.has_sync_option(REPLACE) or (desired is not None and has_option(desired, REPLACE)):
        yield comment(f"remove {REPLACE}: a replacement conflicts with every other write, a patch does not")
