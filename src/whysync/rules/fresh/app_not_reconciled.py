"""No controller reconciles this app: its status is much older than the reconciliation interval.

## What happens
The application controller compares each app every few minutes and records the time. If that time does not
advance, no controller reconciles the app: it is down or overloaded, its shard is missing, its queue is stuck,
or it does not serve the app's cluster or namespace. The status is outdated, and requests are not processed.

## How whysync knows
When the facts were collected, `status.reconciledAt` was many times older than `timeout.reconciliation` plus
jitter, and reconciliation is not disabled. A requested refresh that was not processed makes it certain.

## Fix
Check the controller: is it running, restarting, out of memory; do its shards (`replicas`,
`ARGOCD_CONTROLLER_REPLICAS`) agree; is its work queue growing? Restart it, then refresh the app.

## When it is something else
`timeout.reconciliation: 0` disables polling. `skip-reconcile` on the app is set on purpose.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.freshness import REFRESH, is_served, never_reconciled, overdue
from whysync.diagnosis.symptom import NEVER_RECONCILED, OVERDUE
from whysync.json_tree import Missing
from whysync.kubernetes.api.pointer import join
from whysync.queries.commands import argocd_namespace, kubectl, refresh
from whysync.queries.timestamps import age_text

CONTROLLER_PODS = "app.kubernetes.io/name=argocd-application-controller"
REFRESH_ANNOTATION = join(("metadata", "annotations", REFRESH))


@rule(cause="controller-stale", since="0.1")
def app_not_reconciled(case: Case) -> Iterator[Finding]:
    age = overdue(case)
    if age is None or OVERDUE not in case.symptom_ids:
        yield from _never(case)
        return
    refresh_requested = not isinstance(case.application.at(REFRESH_ANNOTATION), Missing)
    behind = tuple(s.id for s in case.symptoms if s.kind is SymptomKind.BEHIND)
    namespace = argocd_namespace(case)
    settings_known = case.has(Fact.SETTINGS)
    yield Finding(
        about=case.application.ref,
        explains=(OVERDUE, *behind),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if refresh_requested or (settings_known and behind) else Confidence.MEDIUM,
        verdict=f"no controller has reconciled this app for {age_text(age)}"
        + (", although a refresh was requested" if refresh_requested else ""),
        evidence=(
            cite(case.application, "/status/reconciledAt", says="last reconciled"),
            *(
                (cite(case.application, REFRESH_ANNOTATION, says="the requested refresh is still pending"),)
                if refresh_requested
                else ()
            ),
        ),
        fixes=(
            Fix.run(
                kubectl("get", "pods", "-l", CONTROLLER_PODS, namespace=namespace),
                kubectl("logs", "-l", CONTROLLER_PODS, "--tail=100", namespace=namespace),
                refresh(case),
                title="Get the application controller running (restarts, OOMKilled, shards), then refresh",
            ),
        ),
    )


def _never(case: Case) -> Iterator[Finding]:
    """It was created long ago, in a namespace that Argo CD serves, and has no status."""
    age = never_reconciled(case)
    if age is None or NEVER_RECONCILED not in case.symptom_ids:
        return
    if not (is_served(case) or case.app.namespace in ("", argocd_namespace(case))):
        return  # its namespace is the cause
    namespace = argocd_namespace(case)
    yield Finding(
        about=case.application.ref,
        explains=(NEVER_RECONCILED,),
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        verdict=f"no controller has ever reconciled this app, which was created {age_text(age)} ago",
        evidence=(
            cite(case.application, "/metadata/creationTimestamp", says="when it was created"),
            cite(case.application, "/status", says="no status"),
        ),
        fixes=(
            Fix.run(
                kubectl("get", "pods", "-l", CONTROLLER_PODS, namespace=namespace),
                kubectl("logs", "-l", CONTROLLER_PODS, "--tail=100", namespace=namespace),
                title="Get the application controller running, and a shard to serve this cluster",
            ),
        ),
    )
