"""The API server of the destination cluster answers, but cannot handle requests now.

## What happens
Argo CD reached the API server, but it was overloaded, waited too long for etcd or a webhook, was
restarting, or closed the connection during the request. Nothing is wrong with the Application, and a retry
often works.

## How whysync knows
The response: an error of etcd (`leader changed`, `request timed out`), `too many requests`, a request
that did not complete in time, status 503 or 504.

## Fix
Sync or refresh again. If it recurs, or several attempts failed, check the load of the API server and
etcd, and slow webhooks.

## When it is something else
If nothing answers at the address, see `destination_cluster_unreachable`. If one aggregated API is down:
openapi-error.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import Side
from whysync.messages.failure import Network
from whysync.messages.patterns.cluster import ApiServerFailing
from whysync.queries.attempts import CHANCE, attempts, sync_or_retry
from whysync.queries.commands import refresh, sync, with_comment
from whysync.queries.group_failures import grouped

_WEBHOOKS = "kubectl get validatingwebhookconfiguration,mutatingwebhookconfiguration"
_REASONS = {
    Network.TIMEOUT: "but did not finish the request in time",
    Network.RATE_LIMITED: "but accepts no more requests now",
    Network.UNAVAILABLE: "but reports that it is unavailable",
    Network.CLOSED: "but closed the connection during the request",
    Network.RESET: "but the connection was lost during the request",
}


@rule(cause="cluster-unreachable", since="0.1")
def api_server_failing(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ApiServerFailing, by=lambda failure: failure.server):
        failure = group.failure
        destination = case.app.spec.destination
        server = failure.server or destination.server or destination.name or "the destination cluster"
        during = f" while it listed {failure.loading}" if failure.loading else ""
        during = during or (f" while {group.applied} was applied" if group.applied else "")
        applied = any(s.side is Side.APPLY for s in case.symptoms if s.id in group.explains)
        yield Finding(
            about=case.application.ref,
            field="/spec/destination",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the API server of {server} was reached,"
            f" {_REASONS.get(failure.reason, 'but failed to handle the request')}{during}:"
            f" {one_line(failure.detail)}",
            evidence=(
                *group.cited(says="response of the API server"),
                cite(case.application, "/spec/destination", says="destination of the Application"),
            ),
            fixes=(
                Fix.run(
                    with_comment("kubectl get --raw '/readyz?verbose'", "on that cluster"),
                    *(
                        (with_comment(_WEBHOOKS, "slow ones delay each request"),)
                        if failure.reason is Network.TIMEOUT
                        else ()
                    ),
                    *sync_or_retry(case),
                    title=f"{attempts(case)} attempts failed: check {_suspects(failure)}, then sync",
                )
                if applied and attempts(case) > CHANCE
                else Fix.run(
                    sync(case) if applied else refresh(case),
                    with_comment("kubectl get --raw '/readyz?verbose'", "on that cluster, if it recurs"),
                    title=f"Try again; if it recurs, check {_suspects(failure)}",
                ),
            ),
        )


def _suspects(failure: ApiServerFailing) -> str:
    """Webhooks delay a request; they do not change the leader of etcd or close a connection."""
    slow = failure.reason is Network.TIMEOUT
    return "the load of the API server, etcd and webhooks" if slow else "the API server and etcd"
