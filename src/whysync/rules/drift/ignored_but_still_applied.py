"""A field is ignored in the diff, but every sync still writes it.

## What happens
`ignoreDifferences` hides a field from the comparison. A sync still writes Git's value, unless the sync
option `RespectIgnoreDifferences=true` is set, and the other owner of the field (an autoscaler, an operator)
writes its own value again. Each sync causes a short disruption: replicas drop, a certificate is missing.

## How whysync knows
An ignore rule of the Application hides a difference of a field that Git declares, managedFields name another
writer (or an autoscaler targets the workload), and the sync option is not set.

## Fix
Add `RespectIgnoreDifferences=true`. Or remove the field from Git: then no ignore rule is needed.

## When it is something else
If Git does not declare the field, a sync does not write it.
"""

from collections.abc import Iterator

from whysync.diagnosis import Add, Case, Confidence, Fact, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.symptom import SYNC_LOOP
from whysync.kubernetes.field_writers import WriterKind, phrase
from whysync.queries.field_removal import removal_risk
from whysync.queries.hidden_drift import BY_HAND, HiddenDifference, hidden_by_ignoring
from whysync.queries.ignore_rules import RESPECT

_QUIET = BY_HAND | {WriterKind.ARGOCD, WriterKind.UNKNOWN, WriterKind.API_SERVER, WriterKind.KUBECTL_APPLY}


@rule(cause="ignore-not-respected", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def ignored_but_still_applied(case: Case) -> Iterator[Finding]:
    if case.has_sync_option(RESPECT) or not case.is_automated:
        return
    for hidden in hidden_by_ignoring(case):
        who = _other_writer(case, hidden)
        if not who or hidden.rule is None:
            continue
        fights = SYNC_LOOP in case.symptom_ids
        at = f"/spec/ignoreDifferences/{hidden.rule.position}"
        yield Finding(
            about=hidden.live.ref,
            field=hidden.pointer,
            writer=hidden.writer,
            explains=(SYNC_LOOP,) if fights else (),
            severity=Severity.WARNING if fights else Severity.INFO,
            confidence=Confidence.HIGH if hidden.writer else Confidence.MEDIUM,
            verdict=f"{hidden.pointer} of {hidden.live.ref} is ignored in the diff, but every sync"
            f" still writes it; {who} then writes its own value again",
            evidence=(
                cite(case.application, at, says="ignores the field"),
                cite(hidden.desired, hidden.pointer, says="declared in Git"),
                cite(hidden.live, hidden.pointer, says="live value"),
                cite(case.application, "/spec/syncPolicy", says="RespectIgnoreDifferences=true is not set"),
            ),
            fixes=(
                Fix.application(
                    case.application.ref,
                    Add(pointer="/spec/syncPolicy/syncOptions", value=RESPECT),
                    title="Respect ignoreDifferences during a sync as well",
                ),
                Fix.remove(
                    hidden.live.ref,
                    hidden.pointer,
                    title="Remove the field from Git",
                    risk=removal_risk(
                        case, hidden.live.ref, hidden.pointer, writer="the other writer", ignorable=False
                    ),
                ),
            ),
        )


def _other_writer(case: Case, hidden: HiddenDifference) -> str:
    writer = hidden.writer
    if writer is not None and writer.kind not in _QUIET:
        return phrase(writer)
    autoscaler = case.autoscaler_of(hidden.live.ref) if hidden.pointer == "/spec/replicas" else None
    return str(autoscaler.ref) if autoscaler is not None else ""
