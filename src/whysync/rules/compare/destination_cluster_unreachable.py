"""Argo CD cannot reach the destination cluster's API server.

## What happens
Without the cluster there is no live state to compare with: all Applications of that cluster show
the same error, with sync and health Unknown. What runs there goes on running.

## How whysync knows
A failed connection to the API server: no such host, refused, a time-out, or an API server that says
it is overloaded.

## Fix
Try the address from a Pod in Argo CD's namespace. Look for a changed endpoint, a firewall or
private link, a cluster that is being upgraded, or one that is gone.

## When it is something else
It answers and rejects the login: cluster-auth. Only one kind cannot be listed: openapi-error,
conversion-webhook-failed or k8s-rbac.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.symptom import SymptomKind
from whysync.messages.network import Network
from whysync.messages.patterns.cluster import ClusterUnreachable, ConnectionFailed
from whysync.queries.commands import argocd_namespace, refresh
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped

API_PORTS = (443, 6443)

_REPORTED = frozenset({SymptomKind.OPERATION, SymptomKind.CONDITION, SymptomKind.RESULT})


@rule(cause="cluster-unreachable", since="0.1")
def destination_cluster_unreachable(case: Case) -> Iterator[Finding]:
    yield from _whoever(case)
    for group in grouped(case, ClusterUnreachable, by=lambda failure: failure.server):
        failure = group.failure
        if failure.loading and failure.reason is Network.UNAVAILABLE:
            continue  # the API server answers, and one API behind it does not: openapi_schema_unavailable
        destination = case.app.spec.destination
        server = failure.server or destination.server or destination.name or "the destination cluster"
        loading = f" while it lists {failure.loading}" if failure.loading else ""
        yield Finding(
            about=case.application.ref,
            field="/spec/destination",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Argo CD cannot reach {server}{loading}: {why_unreachable(failure.reason)}",
            evidence=(
                *group.cited(says="how the connection failed"),
                cite(case.application, "/spec/destination", says="where the Application goes"),
            ),
            fixes=(
                Fix.run(
                    "argocd cluster list   # is it this cluster only?",
                    f"kubectl -n {argocd_namespace(case)} run probe --rm -it --restart=Never"
                    f" --image=curlimages/curl -- -kI {quote(server) if '://' in server else 'SERVER'}/livez",
                    refresh(case),
                    title="Find out from Argo CD's namespace what stands in between, mend it, then refresh",
                ),
            ),
        )


def _whoever(case: Case) -> Iterator[Finding]:
    """A connection of which the text does not tell whose it was: by its port, the cluster's is likely."""
    for group in grouped(case, ConnectionFailed, by=lambda failure: (failure.host, failure.port)):
        failure = group.failure
        said = any(id.kind in _REPORTED for id in group.explains)
        if failure.port not in API_PORTS or not said:
            continue
        place = f"{failure.host}:{failure.port}"
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.LOW,
            verdict=f"{place} does not answer ({why_unreachable(failure.reason)}): by its port an API server,"
            " or a webhook or Git host",
            evidence=group.cited(says="how the connection failed; the text does not tell whose it was"),
            fixes=(
                Fix.run(
                    "argocd cluster list   # is it a cluster's address?",
                    "kubectl get svc -A -o wide | grep " + quote(failure.host) + "   # or a Service's?",
                    refresh(case),
                    title="Find out whose address it is, mend that, then refresh",
                ),
            ),
        )
