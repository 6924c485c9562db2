"""A namespaced object has no namespace, and the destination has none either.

## What happens
A namespaced object without `metadata.namespace` is deployed to the namespace of the Application's
destination. If the destination has none either, Argo CD cannot compare or apply the object.

## How whysync knows
`Namespace for … is missing`.

## Fix
Set `spec.destination.namespace` of the Application, or `metadata.namespace` of the object.

## When it is something else
If the namespace is set but does not exist, the sync reports it.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import and_more
from whysync.messages.patterns.operations import NamespaceUnset
from whysync.queries.commands import app_argument, refresh
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref


@rule(cause="namespace-missing", since="0.1")
def namespace_missing_in_manifest(case: Case) -> Iterator[Finding]:
    for group in grouped(case, NamespaceUnset):
        ref = named_ref(case, group.failure.resource, group.ref)
        more = and_more(len(group.reports) - 1)
        yield Finding(
            about=case.application.ref,
            field="/spec/destination/namespace",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{ref}{more} needs a namespace, but neither Git nor the Application sets one",
            evidence=(
                *group.cited(says="reported by Argo CD"),
                cite(case.application, "/spec/destination", says="destination without a namespace"),
            ),
            fixes=(
                Fix.run(
                    f"argocd app set {app_argument(case)} --dest-namespace NAMESPACE",
                    refresh(case),
                    title="Set the namespace in the Application's destination (or in the manifests)",
                ),
            ),
        )
