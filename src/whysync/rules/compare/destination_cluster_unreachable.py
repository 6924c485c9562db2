"""Argo CD cannot reach the API server of the destination cluster.

## What happens
Argo CD cannot read the live state: all Applications of that cluster show the same error, with sync and health
Unknown. Workloads in the cluster are not affected.

## How whysync knows
A failed connection to the API server: no such host, connection refused, a timeout, or an overloaded API
server.

## Fix
Test the address from a Pod in Argo CD's namespace. Check for a changed endpoint, a firewall or private
link, a cluster upgrade, or a deleted cluster. An Application that is being deleted and whose cluster no
longer exists is deleted with `--cascade=false`: its resources are then not deleted.

## When it is something else
If the cluster rejects the credentials: cluster-auth. If only one kind cannot be listed: openapi-error,
conversion-webhook-failed or k8s-rbac.
"""

from collections.abc import Iterator
from shlex import quote
from urllib.parse import urlsplit

from whysync.argocd.app_controller.destination import IN_CLUSTER
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, cite_if, rule
from whysync.diagnosis.symptom import SymptomKind
from whysync.messages.network import Network
from whysync.messages.patterns.cluster import ClusterUnreachable, ConnectionFailed
from whysync.queries.commands import argocd_namespace, refresh, with_comment
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.gone_cluster import delete_without_resources, is_in_deletion, is_own_cluster
from whysync.queries.group_failures import grouped

API_PORTS = (443, 6443)

_TEST = "Test the connection from Argo CD's namespace, fix it"
_TITLES = {
    Network.DNS: "Correct the cluster's address, or the DNS that Argo CD uses",
    Network.REFUSED: "Get the cluster's API server running, or correct its address",
    Network.TIMEOUT: "Let Argo CD through to the API server: allowlist, firewall, VPN; or start the cluster",
    Network.NO_ROUTE: "Let Argo CD through to the API server: routes, firewall, VPN; or start the cluster",
}
_REPORTED = frozenset({SymptomKind.OPERATION, SymptomKind.CONDITION, SymptomKind.RESULT})


@rule(cause="cluster-unreachable", since="0.1")
def destination_cluster_unreachable(case: Case) -> Iterator[Finding]:
    yield from _unknown_peer(case)
    for group in grouped(case, ClusterUnreachable, by=lambda failure: failure.server):
        failure = group.failure
        if failure.loading and failure.reason is Network.UNAVAILABLE:
            continue  # the API server answers, but an aggregated API does not: openapi_schema_unavailable
        destination = case.app.spec.destination
        server = failure.server or destination.server or destination.name or "the destination cluster"
        loading = f" to list {failure.loading}" if failure.loading else ""
        yield Finding(
            about=case.application.ref,
            field="/spec/destination",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Argo CD cannot reach {server}{loading}: for its Pods this address is the Pod itself"
            if _is_loopback(server)
            else f"Argo CD cannot reach {server}{loading}: {why_unreachable(failure.reason)}",
            evidence=(
                *group.cited(says="why the connection failed"),
                cite(case.application, "/spec/destination", says="destination of the Application"),
            ),
            fixes=(
                Fix.run(
                    "argocd cluster list   # is it this cluster only?",
                    f"kubectl -n {argocd_namespace(case)} run probe --rm -it --restart=Never"
                    " --image=curlimages/curl -- -kI -m 10"
                    f" {quote(server) if '://' in server else 'SERVER'}/livez",
                    refresh(case),
                    title=f"{_TITLES.get(failure.reason, _TEST)}, then refresh",
                )
                if not _is_loopback(server)
                else _register_reachable(case),
                *delete_without_resources(case, elsewhere=_is_elsewhere(failure)),
            ),
        )


def _is_elsewhere(failure: ClusterUnreachable) -> bool:
    """Is it a name that does not exist? Argo CD's own cluster answers as long as Argo CD runs."""
    is_other = bool(failure.server) and not failure.server.startswith(IN_CLUSTER)
    return is_other and failure.reason is Network.DNS


def _is_loopback(server: str) -> bool:
    try:
        host = urlsplit(server).hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or host.startswith("127.")


def _register_reachable(case: Case) -> Fix:
    """A kubeconfig of a local cluster has the address of the user's machine."""
    return Fix.run(
        "argocd cluster list",
        with_comment(
            "kubectl config set-cluster CLUSTER --server=https://ADDRESS:PORT",
            "one that Pods reach; for Argo CD's own cluster use https://kubernetes.default.svc",
        ),
        "argocd cluster add CONTEXT",
        refresh(case),
        title="Register the cluster with another address: for Argo CD's Pods this one is the Pod itself",
    )


def _peer(case: Case) -> str:
    if is_own_cluster(case):
        return "the address of this cluster's API server, or of a webhook or aggregated API that it calls"
    return "the destination cluster's API server"


def _unknown_peer(case: Case) -> Iterator[Finding]:
    """Connections to an unnamed server: the port suggests an API server."""
    for group in grouped(case, ConnectionFailed, by=lambda failure: (failure.host, failure.port)):
        failure = group.failure
        is_reported = any(id.kind in _REPORTED for id in group.explains)
        if failure.port not in API_PORTS or not is_reported:
            continue
        place = f"{failure.host}:{failure.port}"
        deleting = is_in_deletion(case)
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM if deleting else Confidence.LOW,
            verdict=f"Argo CD cannot delete the app's resources: {place} does not answer"
            f" ({why_unreachable(failure.reason)}), probably {_peer(case)}"
            if deleting
            else f"{place} does not answer ({why_unreachable(failure.reason)}): its port suggests an API"
            " server, or it is a webhook or Git host",
            evidence=(
                *group.cited(says="why the connection failed; the message does not name the server"),
                *cite_if(
                    case.application,
                    "/spec/destination",
                    says="the destination is Argo CD's own cluster",
                    when=is_own_cluster(case),
                ),
            ),
            fixes=(
                Fix.run(
                    *(
                        ()
                        if is_own_cluster(case)
                        else ("argocd cluster list   # is it a cluster's address?",)
                    ),
                    f"kubectl get svc,endpointslices,pods -A -o wide | grep -F {quote(failure.host)}"
                    "   # whose address is it?",
                    *(
                        ("kubectl get apiservices | grep False   # an aggregated API that does not answer",)
                        * is_own_cluster(case)
                    ),
                    refresh(case),
                    title="Find out whose address it is, fix the connection, then refresh",
                ),
                *delete_without_resources(case),
            ),
        )
