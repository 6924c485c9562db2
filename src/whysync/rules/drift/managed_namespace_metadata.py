"""Only the labels or annotations that Argo CD keeps on the namespace differ.

## What happens
`managedNamespaceMetadata` of the sync policy names labels and annotations for the destination's namespace.
When they change, the app is OutOfSync although every resource is Synced and the diff is empty: the namespace
is no row of the app. Only a sync writes them.

## How whysync knows
The app is OutOfSync, no row is, and the metadata in the policy is not what the last sync wrote.

## Fix
Sync. With auto-sync on, note that it acts once for each commit: a change of the Application alone may
need a sync by hand.

## When it is something else
Every row Synced, the metadata the same on both sides: then a part of the status is old.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.symptom import APP_DIFFERS
from whysync.queries.commands import sync
from whysync.queries.managed_namespace import differing_metadata, managed_metadata_differs

WANTED = "/spec/syncPolicy/managedNamespaceMetadata"
WRITTEN = "/status/operationState/syncResult/managedNamespaceMetadata"


@rule(cause="managed-namespace-metadata", since="0.1")
def managed_namespace_metadata(case: Case) -> Iterator[Finding]:
    if APP_DIFFERS not in case.symptom_ids or not managed_metadata_differs(case):
        return
    names = differing_metadata(case)
    told = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    yield Finding(
        about=case.application.ref,
        field=WANTED,
        explains=(APP_DIFFERS,),
        confidence=Confidence.HIGH,
        verdict=f"only {told or 'metadata'} of namespace {case.destination_namespace}"
        f" {'differ' if len(names) > 1 else 'differs'}; all resources are Synced",
        evidence=(
            cite(case.application, WANTED, says="the policy asks for this"),
            cite(case.application, WRITTEN, says="the last sync wrote this"),
        ),
        fixes=(Fix.run(sync(case), title="Sync: it writes the namespace's labels and annotations"),),
    )
