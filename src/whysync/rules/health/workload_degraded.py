"""A resource is not healthy; the reason is what the last object below it reports.

## What happens
Argo CD reports the resource as Degraded, or as Progressing for a long time. The reason is often one or
more objects away: in an event, in a custom resource that it owns or refers to, in a Pod, in a child
Application.

## How whysync knows
It follows owner references, references in the spec, the source of missing objects, volumes, Services and
child Applications, and quotes the last object that reports a reason. Without such an object, it quotes the
resource's own health message. No other rule explains the resource.

## Fix
Fix what the last object reports. If the previous version still runs, reverting to it is safe. Kinds that run
once (a Rollout, a Workflow) have to be started again.

## When it is something else
If Pods, events or logs name a more exact cause, that cause is reported instead of this one.
"""

from collections.abc import Iterator
from shlex import quote

from msgspec.structs import replace

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.current_health import is_read_differently, proof_of_current_health
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.owning_resource import symptoms_of_named_pods
from whysync.diagnosis.sentences import both_ends, listed
from whysync.diagnosis.symptom import OPERATION, SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.kubernetes.api.manifest import Role
from whysync.kubernetes.api.ref import Ref
from whysync.messages.benign import is_unobserved, reports_progress
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import MetricsUnavailable
from whysync.queries.check_commands import pods_and_logs
from whysync.queries.commands import kubectl, on_object, sync, with_comment
from whysync.queries.finalizers import finalizers_of
from whysync.queries.operator_remedies import in_short, remedy
from whysync.queries.previous_revision import with_revert
from whysync.queries.reason_chain import (
    Link,
    chain_evidence,
    is_no_progress,
    last_reason,
    reason_chain,
    symptoms_on,
)

_FAILED = frozenset({"Failed", "Error"})
_REPORTS = frozenset({SymptomKind.EVENT, SymptomKind.STATE, SymptomKind.LOG})
# Kinds that do not try again by themselves, and the command that starts them again.
RETRIES = {
    ("argoproj.io", "Rollout"): ("kubectl", "argo", "rollouts", "retry", "rollout"),
    ("argoproj.io", "Workflow"): ("argo", "retry"),
}


@rule(cause="degraded-workload", since="0.1", last_resort=True)
def workload_degraded(case: Case) -> Iterator[Finding]:
    # Where an event or a log reports something, that is more than the message of a health check.
    is_silent = not any(symptom.kind in _REPORTS for symptom in case.symptoms)
    for row in case.rows_with(SymptomKind.UNHEALTHY):
        code, message = health_of_row(case, row)
        symptom = SymptomId.unhealthy(row.key)
        if code not in ("Degraded", "Progressing"):
            continue
        if proof_of_current_health(case, row) is not None or is_read_differently(case, row):
            continue  # the row is out of date, or the check does not fit the object
        if case.live_of(row.key) is None and is_unobserved(message):
            continue  # stale_health
        chain = reason_chain(case, row.ref)
        if code == "Progressing" and not _is_stuck(case, chain, message if is_silent else ""):
            continue
        reported = tuple(id for id in symptoms_on(case, chain) if id != symptom)
        reason = _reason(case, chain, message)
        has_reason = bool(reason) and (not is_builtin(row.ref) or _is_deeper(chain))
        stopped = _not_reached(case, row) if code == "Degraded" else ()
        finding = Finding(
            about=row.ref,
            explains=(symptom, *reported, *((OPERATION,) if stopped else ())),
            because=(
                *reported,
                *(() if chain else symptoms_of_named_pods(case, row.ref)),
            ),  # where another rule explains what the chain reports, that is the cause
            severity=Severity.CRITICAL if code == "Degraded" or chain else Severity.WARNING,
            confidence=Confidence.MEDIUM if has_reason else Confidence.LOW,
            verdict=f"{row.ref} {_verb(case, code)} {code if code == 'Degraded' else 'ready'}: "
            + (
                f"{_reporter(row, chain)}{in_short(reason)}"
                if reason
                else "the facts do not contain a reason"
            )
            + (f"; the sync {_stops(case)} there, before {listed(stopped)}" if stopped else ""),
            root=both_ends(reason) if has_reason else None,
            evidence=(
                case.cited_health(row, code),
                *chain_evidence(chain),
            ),
            fixes=tuple(_fixes(case, row.ref, chain, reason, has_reason=has_reason)),
        )
        yield with_revert(case, replace(finding, cause=_cause(case, row)))


def _is_stuck(case: Case, chain: tuple[Link, ...], message: str) -> bool:
    """Does anything report why it does not become ready? Right after a sync, only what fails below it."""
    return is_no_progress(case, chain) if case.synced_recently else bool(chain or message)


def _verb(case: Case, code: str) -> str:
    if code == "Degraded":
        return "would be" if case.is_predicted else "is"
    return "would not become" if case.is_predicted else "is not"


def _stops(case: Case) -> str:
    return "would stop" if case.is_predicted else "stopped"


def _cause(case: Case, row: ResourceRow) -> str:
    """The rule's own cause, unless the kind or the object names a more exact one."""
    if (row.group, row.kind) == ("argoproj.io", "ApplicationSet"):
        return "appset-error"
    live = case.live_of(row.key)
    if live is not None and live.meta.get("deletionTimestamp") and finalizers_of(live):
        return "finalizer-stuck"
    return ""


def _not_reached(case: Case, row: ResourceRow) -> tuple[Ref, ...]:
    """The resources of later waves, if the sync failed without a failed task: it failed on this health.

    Mirrors gitops-engine `Sync`, Argo CD 3.6: a Degraded resource ends the sync before the next wave.
    """
    operation = case.operation
    if OPERATION not in case.symptom_ids or operation is None or operation.phase != "Failed":
        return ()
    failed = any(result.status == "SyncFailed" or result.hook_phase in _FAILED for result in case.results)
    if failed or understand(operation.message).failures:
        return ()
    return tuple(
        other.ref for other in case.app.status.resources if (other.sync_wave or 0) > (row.sync_wave or 0)
    )


def _reason(case: Case, chain: tuple[Link, ...], message: str) -> str:
    """Argo CD's health message says more than a condition of the same object, and less than what is below."""
    reason = last_reason(chain)
    if reason is None:
        return message
    is_code = " " not in message and reason.rank > 1  # `KafkaError`, the reason of a condition
    is_own = not _is_deeper(chain) and not is_code and message not in reason.text
    return (
        message if is_own and not (reports_progress(message) and is_no_progress(case, chain)) else reason.text
    )


def _is_deeper(chain: tuple[Link, ...]) -> bool:
    """The reason comes from another object, or from an event or a part of the resource itself."""
    reason = last_reason(chain)
    return (
        reason is not None
        and (reason.rank > 0 or chain[0].reason is None)
        and (len(chain) > 1 or reason.is_nested or reason.evidence.source == Role.EVENT)
    )


def _reporter(row: ResourceRow, chain: tuple[Link, ...]) -> str:
    return f"{chain[-1].ref}: " if len(chain) > 1 and chain[-1].ref.key != row.key else ""


def _fixes(case: Case, ref: Ref, chain: tuple[Link, ...], reason: str, *, has_reason: bool) -> Iterator[Fix]:
    last_ref = chain[-1].ref if chain else ref
    retry = RETRIES.get((ref.group, ref.kind))
    commands = (
        on_object("describe", last_ref),
        kubectl("get", "events", "--sort-by", ".lastTimestamp", namespace=last_ref.namespace or "default"),
        *pods_and_logs(last_ref),
    )
    if retry is not None:
        if ref.kind == "Rollout":
            yield Fix.run(
                f"kubectl argo rollouts get rollout {quote(ref.name)} -n {quote(ref.namespace or 'default')}",
                with_comment("git revert COMMIT && git push", "the commit with the version that failed"),
                sync(case),
                title="If the new version is bad: revert it in Git; an aborted Rollout serves the old one",
            )
        yield Fix.run(
            *commands,
            f"{' '.join(retry)} {quote(ref.name)} -n {quote(ref.namespace or 'default')}",
            title=f"If the new version is good: correct what made it fail, then retry the {ref.kind}"
            if ref.kind == "Rollout"
            else f"Correct what made it fail, then retry: a {ref.kind} does not retry by itself",
            risk="the new version gets traffic again, and fails again if its cause is not corrected"
            if ref.kind == "Rollout"
            else "its failed steps run again, with their effects",
        )
    elif metrics := _unavailable_metrics(reason):
        yield _provide_metrics(case, last_ref, metrics)
    elif has_reason:
        yield remedy(case, last_ref, reason)
    else:
        yield Fix.run(*commands, title="Look at its events, the objects that it owns and their logs")


def _unavailable_metrics(reason: str) -> MetricsUnavailable | None:
    failures = understand(reason).failures
    return next((failure for failure in failures if isinstance(failure, MetricsUnavailable)), None)


def _provide_metrics(case: Case, ref: Ref, metrics: MetricsUnavailable) -> Fix:
    """Utilization is a share of the request: a container without one makes it unknown for the whole Pod."""
    if metrics.container and metrics.resource:
        return Fix.run(
            with_comment(
                f"git grep -n {quote(f'name: {metrics.container}')}",
                f"in the checkout: add resources.requests.{metrics.resource} to this container, and commit",
            ),
            sync(case),
            title=f"Set a {metrics.resource} request for container {metrics.container} in Git: utilization is"
            " a share of it",
        )
    return Fix.run(
        on_object("describe", ref),
        with_comment("kubectl get apiservices", "are the metrics APIs Available?"),
        kubectl("top", "pods", namespace=ref.namespace),
        title="Make its metrics available: the API that serves them, and the Pods behind it",
    )
