"""Argo CD manages only some namespaces of this cluster, and the object lies outside them.

## What happens
A cluster can be registered with a list of namespaces. Argo CD then watches and applies only there;
another namespace, or a kind without a namespace, cannot even be compared.

## How whysync knows
`is not managed`, or `can not be managed when in namespaced mode`.

## Fix
Add the namespace to the cluster's list, or allow cluster-scoped kinds for it; or move the object.

## When it is something else
The project does not permit the namespace: project-denied. The account has no right there: k8s-rbac.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.contracts.ref import Ref
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.commands import argocd_namespace, kubectl, refresh
from whysync.diagnosis.grouped import grouped
from whysync.semantics.messages import NamespaceNotManaged

ALL_KINDS = '{"stringData":{"clusterResources":"true"}}'


@rule(cause="namespace-not-managed", since="0.1")
def namespace_outside_managed_ones(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case, NamespaceNotManaged, by=lambda f: (f.namespace, "" if f.namespace else f.kind)
    ):
        failure = group.failure
        ref = Ref(kind=failure.kind or "object", namespace=failure.namespace, name=failure.name)
        server = quote(case.app.spec.destination.server or case.app.spec.destination.name or "SERVER")
        if failure.namespace:
            verdict = f"Argo CD does not manage namespace {failure.namespace} of this cluster ({ref})"
            change = f"argocd cluster set CLUSTER_NAME --namespace NS1,NS2,{quote(failure.namespace)}"
            title = "Add the namespace to those of the cluster (the whole list, the old ones too)"
        else:
            verdict = f"Argo CD manages only namespaces of this cluster, and {ref} has none"
            secret = ("patch", "secret", "CLUSTER_SECRET", "-p", ALL_KINDS)
            change = kubectl(*secret, namespace=argocd_namespace(case))
            title = "Let Argo CD manage cluster-scoped kinds of this cluster"
        yield Finding(
            about=ref if failure.name else case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=verdict,
            evidence=group.cited(says="the cluster is registered for some namespaces only"),
            fixes=(
                Fix.run(
                    f"argocd cluster get {server} -o yaml   # its namespaces",
                    change,
                    refresh(case),
                    title=title,
                    risk="the account needs the rights there as well",
                ),
            ),
        )
