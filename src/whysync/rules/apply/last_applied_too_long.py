"""The object is too large for client-side apply.

## What happens
Client-side apply stores a copy of the whole manifest in the annotation
`kubectl.kubernetes.io/last-applied-configuration`. All annotations of an object together are limited to
262144 bytes; large CRDs and ConfigMaps with dashboards exceed that. The API server rejects the object.

## How whysync knows
`metadata.annotations: Too long` from the API server.

## Fix
Server-side apply stores no such copy: set `ServerSideApply=true` on the object, or on the whole Application.

## When it is something else
`Request entity too large` and `etcdserver: request is too large` mean that the object itself is too
large (resource-too-large): server-side apply does not help there.
"""

from collections.abc import Iterator

from whysync.diagnosis import Add, Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import and_more
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER
from whysync.messages.patterns.apply import AnnotationTooLong
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import comment, sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import is_unnamed, named_ref, object_text
from whysync.queries.sync_options import has_option, with_options

SERVER_SIDE = "ServerSideApply=true"


@rule(cause="annotation-too-long", since="0.1")
def last_applied_too_long(case: Case) -> Iterator[Finding]:
    for group in grouped(case, AnnotationTooLong):
        refs = tuple(dict.fromkeys(named_ref(case, r.failure.resource, r.ref) for r in group.reports))
        ref = refs[0]
        more = and_more(len(refs) - 1)
        yield Finding(
            about=ref,
            field=None if is_unnamed(case, ref) else LAST_APPLIED_POINTER,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=(
                f"{object_text(case, ref, group.failure.resource.kind)}{more} is too large for client-side"
                f" apply: the last-applied annotation exceeds {group.failure.limit} bytes"
            ),
            evidence=group.cited(says="the API server limits the size of all annotations"),
            fixes=tuple(_fixes(case, refs)),
            already_fixed=sync_again(
                case,
                "server-side apply is enabled now",
                "Sync again: server-side apply is enabled now",
                when=all(_applied_server_side(case, resource) for resource in refs),
            ),
        )


def _applied_server_side(case: Case, ref: Ref) -> bool:
    return case.has_sync_option(SERVER_SIDE) or has_option(case.desired_of(ref.key), SERVER_SIDE)


def _fixes(case: Case, refs: tuple[Ref, ...]) -> Iterator[Fix]:
    desired = case.desired_of(refs[0].key)
    alone = len(refs) == 1 and not is_unnamed(case, refs[0]) and not all(s.chart for s in case.app.sources)
    if desired is not None and len(refs) == 1:
        yield Fix.change(
            refs[0], with_options(desired, SERVER_SIDE), title="Use server-side apply for this object"
        )
    elif alone:
        yield Fix.run(
            comment(f"on {refs[0]} in Git, as an annotation:"),
            comment(f"argocd.argoproj.io/sync-options: {SERVER_SIDE}; commit and push, then"),
            sync(case),
            title=f"Use server-side apply for {refs[0]}",
        )
    yield Fix.application(
        case.application.ref,
        Add(pointer="/spec/syncPolicy/syncOptions", value=SERVER_SIDE),
        title=f"{'Or use' if alone else 'Use'} server-side apply for the whole Application",
        risk="Argo CD takes ownership of every field it declares; the comparison becomes stricter",
    )
