"""Only labels or annotations in `managedNamespaceMetadata` differ.

## What happens
`managedNamespaceMetadata` in the sync policy sets labels and annotations of the destination namespace. When
it changes, the app is OutOfSync although every resource is Synced and the diff is empty: the namespace is
not a resource of the app. Only a sync writes them.

## How whysync knows
The app is OutOfSync but no resource is, and the metadata in the policy differs from what the last sync wrote.

## Fix
Sync. Auto-sync runs once for each commit: a change of the Application alone may need a manual sync. If the
new labels enforce a stricter Pod Security level, correct first the workloads whose next Pods it would refuse.

## When it is something else
If every resource is Synced and the metadata is the same on both sides, the app's status is stale.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import APP_DIFFERS
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.queries.commands import comment, sync
from whysync.queries.managed_namespace import (
    differing_metadata,
    managed_metadata_differs,
    refused_by_new_level,
)
from whysync.queries.pod_security import (
    ENFORCE,
    demanded_fields,
    forbidden_fields,
    pod_spec_pointer,
    violated_checks,
)

DECLARED = "/spec/syncPolicy/managedNamespaceMetadata"
WARN = "pod-security.kubernetes.io/warn"
WRITTEN = "/status/operationState/syncResult/managedNamespaceMetadata"


@rule(cause="managed-namespace-metadata", since="0.1")
def managed_namespace_metadata(case: Case) -> Iterator[Finding]:
    if APP_DIFFERS not in case.symptom_ids or not managed_metadata_differs(case):
        return
    names = differing_metadata(case)
    shown = listed(names)
    refused = refused_by_new_level(case)
    yield Finding(
        about=case.application.ref,
        field=DECLARED,
        explains=(APP_DIFFERS,),
        confidence=Confidence.HIGH,
        verdict=f"only {shown or 'metadata'} of namespace {case.destination_namespace}"
        f" {'differ' if len(names) > 1 else 'differs'}; all resources are Synced",
        evidence=(
            cite(case.application, DECLARED, says="declared in the sync policy"),
            cite(case.application, WRITTEN, says="written by the last sync"),
            *(
                cite(
                    workload,
                    f"{pod_spec_pointer(workload.ref.kind)}/securityContext",
                    says=f"the new level refuses its next Pods ({', '.join(violated_checks(violated))})",
                )
                for workload, violated in refused[:2]
            ),
        ),
        fixes=tuple(_fixes(case, refused)),
    )


def _fixes(case: Case, refused: tuple[tuple[Manifest, str], ...]) -> Iterator[Fix]:
    if not refused:
        yield Fix.run(sync(case), title="Sync, which writes the labels and annotations of the namespace")
        return
    yield _secured(case, *((workload.ref, violated) for workload, violated in refused))
    yield Fix.run(
        comment(f"in managedNamespaceMetadata of the Application: {WARN} instead of {ENFORCE}"),
        sync(case),
        title="Or only warn until the workloads comply: use the label warn instead of enforce",
    )


def _secured(case: Case, *refused: tuple[Ref, str]) -> Fix:
    lines: list[str] = []
    for ref, violated in refused:
        lines += [comment(f"{ref}, {line}; commit") for line in demanded_fields(violated)]
        forbidden = tuple(forbidden_fields(violated))
        if forbidden:
            lines.append(comment(f"remove from the Pod template of {ref}: {listed(forbidden)}; commit"))
    return Fix.run(
        *lines,
        sync(case),
        title=f"First make {listed([str(ref) for ref, _ in refused])} comply with the new level, then sync",
        risk="an image that runs as root, or needs these privileges, does not start then: test it first",
    )
