"""Only labels or annotations in `managedNamespaceMetadata` differ.

## What happens
`managedNamespaceMetadata` in the sync policy sets labels and annotations of the destination namespace. When
it changes, the app is OutOfSync although every resource is Synced and the diff is empty: the namespace is
not a resource of the app. Only a sync writes them.

## How whysync knows
The app is OutOfSync but no resource is, and the metadata in the policy differs from what the last sync wrote.

## Fix
Sync. Auto-sync runs once for each commit: a change of the Application alone may need a manual sync.

## When it is something else
If every resource is Synced and the metadata is the same on both sides, the app's status is stale.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, rule
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import APP_DIFFERS
from whysync.queries.commands import sync
from whysync.queries.managed_namespace import differing_metadata, managed_metadata_differs

DECLARED = "/spec/syncPolicy/managedNamespaceMetadata"
WRITTEN = "/status/operationState/syncResult/managedNamespaceMetadata"


@rule(cause="managed-namespace-metadata", since="0.1")
def managed_namespace_metadata(case: Case) -> Iterator[Finding]:
    if APP_DIFFERS not in case.symptom_ids or not managed_metadata_differs(case):
        return
    names = differing_metadata(case)
    shown = listed(names)
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
        ),
        fixes=(Fix.run(sync(case), title="Sync, which writes the labels and annotations of the namespace"),),
    )
