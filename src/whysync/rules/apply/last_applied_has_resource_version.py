"""The last-applied annotation contains a `resourceVersion`, so every update is rejected.

## What happens
Client-side apply compares Git with the annotation `kubectl.kubernetes.io/last-applied-configuration`. If
somebody once applied a manifest that was read from the cluster (`kubectl get -o yaml | kubectl apply`), the
annotation contains `resourceVersion` and other server fields. Git does not have them, so each update would
remove the version, and the API server rejects it.

## How whysync knows
`metadata.resourceVersion: Invalid value: 0x0: must be specified for an update`; and the annotation itself, if
the live object is in the facts.

## Fix
Remove the annotation from the live object: the next apply writes a clean one. Server-side apply does not use
it.

## When it is something else
`the object has been modified` is a race between two writers: conflict-modified.
"""

from collections.abc import Iterator

from whysync.diagnosis import Add, Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.json_tree import text
from whysync.kubernetes.merge.last_applied import LAST_APPLIED, LAST_APPLIED_POINTER
from whysync.messages.patterns.apply import ConflictModified
from whysync.queries.commands import kubectl, on_object, sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import find_object, is_unnamed, named_ref, object_text, placed

SERVER_SIDE = "ServerSideApply=true"


@rule(cause="last-applied", since="0.1")
def last_applied_has_resource_version(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ConflictModified, by=lambda failure: failure.resource):
        if not group.failure.removes_version:
            continue
        ref = named_ref(case, group.failure.resource, group.ref)
        live = case.live_of(ref.key)
        is_recorded = live is not None and "resourceVersion" in text(live.at(LAST_APPLIED_POINTER))
        server_side = case.has_sync_option(SERVER_SIDE)
        yield Finding(
            about=case.application.ref if server_side else ref,
            field=None if is_unnamed(case, ref) else LAST_APPLIED_POINTER,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if is_recorded else Confidence.MEDIUM,
            verdict=f"{object_text(case, ref)}: its last-applied annotation"
            f" {'contains' if is_recorded else 'seems to contain'} a resourceVersion, so every update would"
            " remove it and is rejected",
            evidence=(
                *group.cited(says="an update without a version is rejected"),
                *(
                    (cite(live, LAST_APPLIED_POINTER, says="what client-side apply compares Git with"),)
                    if live and is_recorded
                    else ()
                ),
            ),
            fixes=(
                Fix.run(
                    *find_object(case, ref),
                    kubectl(
                        "annotate", "KIND", "NAME", f"{LAST_APPLIED}-", namespace=case.destination_namespace
                    )
                    if is_unnamed(case, ref)
                    else on_object("annotate", placed(case, ref), f"{LAST_APPLIED}-"),
                    sync(case),
                    title="Remove the annotation from the live object; the next sync writes a clean one",
                    risk="fields removed from Git since the last apply stay in the live object",
                ),
                *(
                    ()
                    if server_side
                    else (
                        Fix.application(
                            case.application.ref,
                            Add(pointer="/spec/syncPolicy/syncOptions", value=SERVER_SIDE),
                            title="Or apply server-side, which does not use the annotation",
                            risk="Argo CD takes ownership of every field it declares",
                        ),
                    )
                ),
            ),
        )
