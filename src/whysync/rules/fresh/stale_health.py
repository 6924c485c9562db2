"""The health in the status of the Application is older than the live object.

## What happens
Argo CD writes the health of each resource into the status of the Application when it reconciles. After a
missed watch event, a restart of the controller or a full queue, the status still reports a rollout as
Progressing or Degraded although it has finished. The app looks unhealthy, and a wait for its health goes on.

## How whysync knows
The row is Progressing or Degraded. Argo CD's own health check, run on the live object, answers Healthy, and
the status of the object proves it: all replicas are available, the claim is bound, the address is there.
Without the object: the row waits until Kubernetes has observed the last change, long after the sync.

## Fix
Refresh the app. If the row does not change, restart the application controller: it then reads the cluster
again.

## When it is something else
A health check of a newer or older Argo CD may read the same object in another way. A custom resource that
reports Ready while its check says otherwise: ready_but_not_healthy. Words that no known health check uses may
come from a custom one, which is a second reading where Argo CD's settings are not in the facts.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.current_health import proof_of_current_health
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.messages.benign import is_unobserved, reports_progress
from whysync.messages.failure import Unknown
from whysync.messages.parse import understand
from whysync.queries.commands import argocd_namespace, kubectl, on_object, refresh, with_comment


@rule(cause="stale-state", since="0.1", last_resort=True, on_absence=True)
def stale_health(case: Case) -> Iterator[Finding]:
    for row in case.rows_with(SymptomKind.UNHEALTHY):
        symptom = SymptomId.unhealthy(row.key)
        live = case.live_of(row.key)
        code, message = health_of_row(case, row)
        if live is None and is_unobserved(message) and not case.synced_recently:
            yield _unobserved(case, row, message)
        proof = proof_of_current_health(case, row)
        if live is None or proof is None:
            continue
        doubt = ", or a custom health check reports it" if _may_be_custom(case, message) else ""
        yield Finding(
            about=row.ref,
            explains=(symptom,),
            severity=Severity.WARNING,
            confidence=Confidence.LOW if doubt else Confidence.MEDIUM,
            verdict=f"{row.ref} is Healthy in the cluster, but the app's status still reports it as {code}"
            + (f" ({message}): it is out of date{doubt}" if doubt else f": {message}" if message else ""),
            evidence=(
                case.cited_row(row, says="what the status of the app says"),
                cite(live, proof, says="what the cluster has now"),
                cite(case.application, "/status/reconciledAt", says="when Argo CD last reconciled the app"),
            ),
            fixes=_fixes(case),
        )


def _may_be_custom(case: Case, message: str) -> bool:
    """Words that no known check uses may come from resource.customizations, which the facts do not have."""
    failures = understand(message).failures if message and not reports_progress(message) else ()
    unknown = bool(failures) and all(isinstance(failure, Unknown) for failure in failures)
    return unknown and not case.has(Fact.SETTINGS)


def _unobserved(case: Case, row: ResourceRow, message: str) -> Finding:
    """The controller of a workload sees a change within seconds: the row is older, or nothing looks at it."""
    return Finding(
        about=row.ref,
        explains=(SymptomId.unhealthy(row.key),),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        verdict=f"the row of {row.ref} is most likely out of date ({message}): Kubernetes observes a change"
        " within seconds, unless its controller-manager does not run",
        root=message,
        evidence=(
            case.cited_row(row, says="what the status of the app says"),
            cite(case.application, "/status/reconciledAt", says="when Argo CD last reconciled the app"),
        ),
        fixes=(
            Fix.run(
                with_comment(
                    on_object("get", row.ref, "-o", "yaml"), "is observedGeneration the same as generation?"
                ),
                title="Compare its generations: if they differ, check kube-controller-manager",
            ),
            *_fixes(case),
        ),
    )


def _fixes(case: Case) -> tuple[Fix, ...]:
    return (
        Fix.run(refresh(case), title="Refresh the app"),
        Fix.run(
            kubectl(
                *("rollout", "restart", "statefulset", "argocd-application-controller"),
                namespace=argocd_namespace(case),
            ),
            title="If the row does not change: restart the application controller",
            risk="it compares all apps again: a burst of load",
        ),
    )
