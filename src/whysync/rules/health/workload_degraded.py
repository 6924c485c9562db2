"""A resource is Degraded, and nothing at hand says more than its own message.

## What happens
Argo CD judges the resource Degraded or stuck. The objects below it (Pods, events, logs) that would tell
the reason are not at hand, or tell nothing.

## How whysync knows
The resource's own health message or condition; no other rule explains it. Of a custom resource, that
message is its controller's word, and mostly the reason. Of Pods whose containers are ready and which are
not, the readiness gate that nobody opens.

## Fix
If the version before still runs, going back to it is safe. Else look one level below: describe the
object, then its Pods and their logs. Give them to whysync to have the answer next time. For a custom
resource: mend what its controller names.

## When it is something else
With Pods, events or logs at hand, a more exact cause is named instead of this one.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.field_heuristics import is_builtin
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import fields, items, text
from whysync.queries.commands import kubectl
from whysync.queries.previous_revision import with_revert
from whysync.queries.resource_rows import row_evidence


@rule(cause="degraded-workload", since="0.1", last_resort=True)
def workload_degraded(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        code, message = health_of_row(case, row)
        symptom = SymptomId.unhealthy(row.key)
        evidences = (*_conditions(case, row), *_not_ready(case, row))
        lingers = code == "Progressing" and bool(message and evidences) and not case.synced_recently
        if symptom not in case.symptom_ids or not (code == "Degraded" or lingers):
            continue
        reason = message or next((said for said in map(_said, evidences) if said), "")
        gate = next((text(fields(e.value).get("message")) for e in _not_ready(case, row)), "")
        own_word = bool(reason) and not is_builtin(row.ref)
        finding = Finding(
            about=row.ref,
            explains=(symptom,),
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM if own_word or gate else Confidence.LOW,
            verdict=f"{row.ref} is {code if code == 'Degraded' else 'not ready'}"
            + (f": {reason}" if reason else ", and nothing at hand says why")
            + (f"; {gate}" if gate else ""),
            root=one_line(reason) if own_word else (gate or None),
            evidence=(row_evidence(case, row, says=f"Argo CD calls it {code}"), *evidences),
            fixes=(
                Fix.run(
                    kubectl("describe", row.kind.lower(), row.name, namespace=row.namespace or "default"),
                    kubectl(
                        "get", "events", "--sort-by", ".lastTimestamp", namespace=row.namespace or "default"
                    ),
                    title="Mend what its message names; its controller tries again by itself"
                    if own_word
                    else "Look one level below: its Pods, events and logs",
                ),
            ),
        )
        yield with_revert(case, finding)


def _said(condition: Evidence) -> str:
    obj = fields(condition.value)
    return text(obj.get("message")) or text(obj.get("reason"))


def _not_ready(case: Case, row: ResourceRow) -> Iterator[Evidence]:
    """A Pod whose containers are ready and which is not: a gate of its own is closed."""
    for story in case.pods_of(row.ref):
        for index, raw in enumerate(items(story.pod.status.get("conditions"))):
            if fields(raw).get("reason") == "ReadinessGatesNotReady":
                yield cite(
                    story.pod, f"/status/conditions/{index}", says="its Pod waits for a readiness gate"
                )
                return


def _conditions(case: Case, row: ResourceRow) -> Iterator[Evidence]:
    live = case.live_of(row.key)
    for index, raw in enumerate(items(live.status.get("conditions")) if live is not None else ()):
        condition = fields(raw)
        if text(condition.get("status")) == "False" and live is not None:
            yield cite(live, f"/status/conditions/{index}", says="a condition that does not hold")
