"""Argo CD reports an object as Degraded, but the object itself reports no failure.

## What happens
A health check judges a single look at the object. Some checks report Degraded for a state that every object
of the kind goes through, or that is normal: a Certificate whose Secret is being issued, a
CustomResourceDefinition that the API server has not established yet, a PodDisruptionBudget that allows no
disruption, a condition that the check of an older Argo CD does not know. A sync with waves fails at once if
it meets that state, although the object is fine a few seconds later.

## How whysync knows
The row is Degraded. No condition of the live object reports a failure: those that are not met only report
work in progress, for less than ten minutes; or Argo CD's current health check, run on the live object, does
not report Degraded. No object below it reports a reason.

## Fix
Wait, then refresh or sync again; with `syncPolicy.retry` the sync repeats by itself. If the state is normal
and stays, use a newer Argo CD or replace the check in `argocd-cm`.

## When it is something else
A condition that reports a failure, a Warning event or a failed object below: workload_degraded. A controller
that does not run leaves its objects in the first state forever.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from whysync.argocd.api.application import HealthCode, ResourceRow
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.current_health import proof_of_current_health
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.diagnosis.symptom import SymptomId
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import comment, on_object, refresh, sync, with_comment
from whysync.queries.reason_chain import reason_chain, symptoms_on
from whysync.queries.reasons import failing_conditions
from whysync.queries.timestamps import instant


class _Reading(NamedTuple):
    """Why it is no failure; `passes`: the state ends by itself."""

    why: str
    passes: bool
    evidence: tuple[Evidence, ...] = ()


# Messages of Argo CD's own checks for a state that is normal, or passes in seconds.
_NORMAL = {
    "CRD is not established": _Reading("the API server establishes a new definition within seconds", True),
    "PodDisruptionBudget has InsufficientPods": _Reading(
        "a budget that allows no disruption at the moment is normal; Argo CD's current check accepts it",
        False,
    ),
}
_IN_PROGRESS = re.compile(
    r"(?i)^(?:issuing|creating|provisioning|initiali[sz]ing|installing|deploying|starting|updating|upgrading|"
    r"scaling|reconciling|configuring|pending|progressing)\b|\bin progress\b|\bis being (?:created|issued|"
    r"provisioned|installed|updated|deployed|reconciled|prepared)\b"
)
_PASSES_WITHIN = timedelta(minutes=10)
_FAILURE = re.compile(r"(?i)fail|error|denied|rejected|invalid")


@rule(cause="health-quirk", since="0.1", last_resort=True)
def degraded_without_failure(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        symptom = SymptomId.unhealthy(row.key)
        code, message = health_of_row(case, row)
        if symptom not in case.symptom_ids or code != HealthCode.DEGRADED:
            continue
        if proof_of_current_health(case, row) is not None:
            continue  # the row is out of date: stale_health
        reading = _reading(case, row, message)
        if reading is None:
            continue
        chain = reason_chain(case, row.ref)
        yield Finding(
            about=row.ref,
            explains=(symptom, *(id for id in symptoms_on(case, chain) if id != symptom)),
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
            verdict=f"{row.ref} is reported as Degraded, but reports no failure itself: {reading.why}",
            root=message or None,
            evidence=(case.cited_row(row, says="Argo CD reports it as Degraded"), *reading.evidence),
            fixes=tuple(_fixes(case, row, passes=reading.passes)),
        )


def _fixes(case: Case, row: ResourceRow, *, passes: bool) -> Iterator[Fix]:
    if passes:
        yield Fix.run(
            refresh(case),
            with_comment(on_object("describe", row.ref), "if it stays so: does its controller run?"),
            title="Wait a minute, then refresh",
        )
    else:
        group = f"{row.group}_" if row.group else ""
        yield Fix.run(
            comment(
                f"or set resource.customizations.health.{group}{row.kind} in argocd-cm, and test it with"
            ),
            "whysync health OBJECT.yaml --settings argocd-cm.yaml",
            title="Use a newer Argo CD, or replace its health check of this kind",
            risk="a health check applies to all objects of the kind",
        )
    if case.operation is not None and case.operation.phase in FAILED_PHASES:
        yield Fix.run(
            sync(case), title="The sync failed: sync again (with syncPolicy.retry it repeats by itself)"
        )


def _reading(case: Case, row: ResourceRow, message: str) -> _Reading | None:
    """Why it is no failure; `None` if it may be one."""
    live = case.live_of(row.key)
    failing = tuple(failing_conditions(live)) if live is not None else ()
    normal = _NORMAL.get(message)
    if normal is not None and not any(_is_refusal(condition) for _, condition in failing):
        return normal
    if live is None or not live.status or live.meta.get("deletionTimestamp") or _has_failed_before(live):
        return None
    warned = any(event.type == "Warning" for _, event in case.events_about(row.ref))
    if warned or len(reason_chain(case, row.ref)) > 1:
        return None
    if _reports_failure(live):
        return None
    if failing and all(_is_in_progress(case, condition) for _, condition in failing):
        return _Reading(
            f"its controller is still at work: {_says(failing[0][1])}",
            True,
            tuple(
                cite(live, f"/status/conditions/{index}", says="work in progress") for index, _ in failing[:2]
            ),
        )
    verdict = case.health_of(live)
    healthy = verdict is not None and verdict.code == HealthCode.HEALTHY
    if healthy and not failing and not is_builtin(row.ref):
        return _Reading(
            "Argo CD's current health check reports it as Healthy, the one in use reads its status in"
            " another way",
            False,
            (cite(live, "/status", says="its status"),),
        )
    return None


def _is_refusal(condition: Object) -> bool:
    """A CRD whose names conflict or whose schema is invalid never becomes established."""
    return text(condition.get("type")) not in ("Established", "DisruptionAllowed")


def _has_failed_before(live: Manifest) -> bool:
    return any(live.status.get(name) for name in ("lastFailureTime", "failureMessage", "lastError", "error"))


def _is_in_progress(case: Case, condition: Object) -> bool:
    age = case.age(instant(condition.get("lastTransitionTime", "")))
    recent = age is None or age < _PASSES_WITHIN
    return recent and bool(_IN_PROGRESS.search(_says(condition)))


def _says(condition: Object) -> str:
    return text(condition.get("message")) or text(condition.get("reason"))


def _reports_failure(live: Manifest) -> bool:
    """A reason such as `Failed` or `ReconcileError`, of a condition of any type that is not met."""
    conditions = (fields(raw) for raw in items(live.status.get("conditions")))
    return any(_FAILURE.search(text(c.get("reason"))) and c.get("status") != "True" for c in conditions)
