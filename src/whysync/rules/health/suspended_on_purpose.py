"""Something is suspended or paused, and waits for a person.

## What happens
A paused Deployment, a Rollout at a pause step, a suspended Job or a paused ScaledObject reports Suspended.
It is not broken: somebody, or its own strategy, stopped it. A sync that waits for its wave waits for it too.
(A suspended CronJob counts as Healthy.)

## How whysync knows
Argo CD reports the health Suspended; the object's own field says what was switched.

## Fix
If the pause has served its purpose: promote, resume or unsuspend it. If Git declares the pause, change Git.

## When it is something else
Progressing is work under way; Degraded is failure.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.contracts.ref import Key
from whysync.contracts.tree import Missing
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.rows import row_evidence
from whysync.diagnosis.symptoms import health_of_row

SWITCHES = ("/spec/paused", "/spec/suspend", "/status/pauseConditions", "/status/phase")
RESUME = {
    ("argoproj.io", "Rollout"): "kubectl argo rollouts -n {namespace} promote {name}",
    ("apps", "Deployment"): "kubectl -n {namespace} rollout resume deployment {name}",
    (
        "batch",
        "Job",
    ): 'kubectl -n {namespace} patch job {name} --type merge -p \'{{"spec":{{"suspend":false}}}}\'',
    ("keda.sh", "ScaledObject"): (
        "kubectl -n {namespace} annotate scaledobject {name} autoscaling.keda.sh/paused- "
        "autoscaling.keda.sh/paused-replicas-"
    ),
}


@rule(cause="suspended", since="0.1")
def suspended_on_purpose(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        code, message = health_of_row(case, row)
        symptom = f"unhealthy:{row.key}"
        if code != "Suspended" or symptom not in case.symptom_ids:
            continue
        waits = ("operation",) if _holds_up_the_sync(case, row.name) else ()
        command = RESUME.get((row.group, row.kind), "kubectl -n {namespace} get {kind} {name} -o yaml")
        command = command.format(
            namespace=quote(row.namespace or "default"), name=quote(row.name), kind=quote(row.kind.lower())
        )
        yield Finding(
            about=row.ref,
            explains=(symptom, *waits),
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            verdict=f"{row.ref} is suspended and waits for somebody" + (f": {message}" if message else ""),
            evidence=(row_evidence(case, row, says="Argo CD calls it Suspended"), *_switches(case, row.key)),
            fixes=(Fix.run(command, title="Resume it, if the pause has served its purpose"),),
        )


def _holds_up_the_sync(case: Case, name: str) -> bool:
    operation = case.operation
    return operation is not None and operation.phase == "Running" and name in operation.message


def _switches(case: Case, key: Key) -> Iterator[Evidence]:
    live = case.live_of(key)
    if live is not None:
        for pointer in SWITCHES:
            if not isinstance(live.at(pointer), Missing):
                yield cite(live, pointer, says="its own switch")
