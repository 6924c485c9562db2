"""Argo CD reports an object as Degraded, but the object itself reports no failure.

## What happens
A health check judges a single look at the object. Some checks report Degraded for a state that every object
of the kind goes through, or that is normal: a Certificate whose Secret is being issued, a
CustomResourceDefinition that the API server has not established yet (Argo CD 3.0 to 3.4), a
PodDisruptionBudget that allows no disruption (Argo CD 2.13.0), a condition that the check of an older Argo CD
does not know. A sync with waves fails at once if it meets that state, although the object is fine a few
seconds later.

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
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.benign import is_in_progress
from whysync.messages.failure import Failure
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import BudgetWithoutDisruptions, DefinitionNotEstablished
from whysync.queries.commands import comment, on_object, refresh, sync, with_comment
from whysync.queries.reason_chain import fails_below, reason_chain, symptoms_on
from whysync.queries.reasons import failing_conditions
from whysync.queries.timestamps import instant


class _Reading(NamedTuple):
    """Why it is no failure.

    `passes`: the state ends by itself. `kind`: of the object in that state. `accepted_since`: the first
    Argo CD whose check accepts it.
    """

    why: str
    passes: bool
    kind: str = ""
    evidence: tuple[Evidence, ...] = ()
    accepted_since: tuple[int, ...] = ()


# States that are normal or end in seconds, and that Argo CD's own checks report as Degraded.
_NORMAL: dict[type[Failure], _Reading] = {
    DefinitionNotEstablished: _Reading(
        "the API server establishes a new definition within seconds; since 3.5, Argo CD reports it as"
        " Progressing",
        passes=True,
        kind="CustomResourceDefinition",
        accepted_since=(3, 5),
    ),
    BudgetWithoutDisruptions: _Reading(
        "a budget that allows no disruption at the moment is normal; since 2.13.1, Argo CD reports it as"
        " Healthy",
        passes=False,
        kind="PodDisruptionBudget",
        accepted_since=(2, 13, 1),
    ),
}
_PASSES_WITHIN = timedelta(minutes=10)
_FAILURE = re.compile(r"(?i)fail|error|denied|rejected|invalid")


@rule(cause="health-quirk", since="0.1", last_resort=True)
def degraded_without_failure(case: Case) -> Iterator[Finding]:
    for row in case.rows_with(SymptomKind.UNHEALTHY):
        symptom = SymptomId.unhealthy(row.key)
        code, message = health_of_row(case, row)
        if code != HealthCode.DEGRADED:
            continue
        if proof_of_current_health(case, row) is not None:
            continue  # the row is out of date: stale_health
        reading = _reading(case, row, message)
        if reading is None:
            continue
        chain = reason_chain(case, row.ref)
        if fails_below(chain) or (is_builtin(row.ref) and len(chain) > 1):
            continue  # another object fails: workload_degraded
        yield Finding(
            about=row.ref,
            explains=(symptom, *(id for id in symptoms_on(case, chain) if id != symptom)),
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
            verdict=f"{row.ref} is reported as Degraded, but reports no failure itself: {reading.why}",
            root=message or None,
            evidence=(case.cited_health(row, "Degraded"), *reading.evidence),
            fixes=tuple(_fixes(case, row, reading)),
        )


def _fixes(case: Case, row: ResourceRow, reading: _Reading) -> Iterator[Fix]:
    if reading.passes:
        question = "which condition is False?" if is_builtin(row.ref) else "does its controller run?"
        yield Fix.run(
            refresh(case),
            with_comment(on_object("describe", row.ref), f"if it stays so: {question}"),
            title="Wait a minute, then refresh",
        )
    else:
        group = f"{row.group}_" if row.group else ""
        yield Fix.run(
            comment(f"set resource.customizations.health.{group}{row.kind} in argocd-cm, and test it with"),
            "whysync health OBJECT.yaml --settings argocd-cm.yaml",
            title=_title(case, reading),
            risk="a health check applies to all objects of the kind",
        )
    if case.operation is not None and case.operation.phase in FAILED_PHASES:
        yield Fix.run(
            sync(case), title="The sync failed: sync again (with syncPolicy.retry it repeats by itself)"
        )


def _title(case: Case, reading: _Reading) -> str:
    if _is_accepted(case, reading):
        return "Replace the health check of this kind"
    newer = ".".join(map(str, reading.accepted_since))
    upgrade = f"Use Argo CD {newer} or later" if newer else "Use a newer Argo CD"
    return f"{upgrade}, or replace its health check of this kind"


def _is_accepted(case: Case, reading: _Reading) -> bool:
    """Does the check of this Argo CD accept the state? Then another one, of argocd-cm, is in use."""
    return bool(case.argocd_release and reading.accepted_since) and (
        case.argocd_release >= reading.accepted_since
    )


def _reading(case: Case, row: ResourceRow, message: str) -> _Reading | None:
    """Why it is no failure; `None` if it may be one."""
    live = case.live_of(row.key)
    failing = tuple(failing_conditions(live)) if live is not None else ()
    reported = (_NORMAL.get(type(failure)) for failure in understand(message).failures)
    normal = next((state for state in reported if state is not None and state.kind == row.kind), None)
    if normal is not None and normal.passes and _is_accepted(case, normal):
        return None  # this Argo CD reports Degraded only if the API server rejects the definition
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
            passes=True,
            evidence=tuple(
                cite(live, f"/status/conditions/{index}", says="work in progress") for index, _ in failing[:2]
            ),
        )
    verdict = case.health_of(live)
    healthy = verdict is not None and verdict.code == HealthCode.HEALTHY
    if healthy and not failing and not is_builtin(row.ref):
        return _Reading(
            "Argo CD's current health check reports it as Healthy, the one in use reads its status in"
            " another way",
            passes=False,
            evidence=(cite(live, "/status", says="its status"),),
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
    return recent and is_in_progress(_says(condition))


def _says(condition: Object) -> str:
    return text(condition.get("message")) or text(condition.get("reason"))


def _reports_failure(live: Manifest) -> bool:
    """A reason such as `Failed` or `ReconcileError`, of a condition of any type that is not met."""
    conditions = (fields(raw) for raw in items(live.status.get("conditions")))
    return any(_FAILURE.search(text(c.get("reason"))) and c.get("status") != "True" for c in conditions)
