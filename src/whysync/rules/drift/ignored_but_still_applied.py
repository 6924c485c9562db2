"""A field is ignored in the diff, and every sync still writes it.

## What happens
`ignoreDifferences` hides a field when Argo CD compares. It does not keep a sync from writing Git's value,
unless `RespectIgnoreDifferences=true` is among the sync options. Whoever else owns the field (an
autoscaler, an operator) writes it back. Each sync is a jolt: replicas drop, certificates vanish for a
moment.

## How whysync knows
A rule of the Application hides a difference of a field that Git declares, managedFields name another writer
(or an autoscaler is at hand), and the option is not set.

## Fix
Add `RespectIgnoreDifferences=true`. Or drop the field from Git: then no rule is needed.

## When it is something else
Git does not declare the field: then a sync does not write it, and nothing has to be respected.
"""

from collections.abc import Iterator

from whysync.diagnosis import Add, Case, Confidence, Fact, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.symptom import SYNC_LOOP
from whysync.kubernetes.field_writers import WriterKind, phrase
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
            verdict=f"{hidden.pointer} of {hidden.live.ref} is ignored in the diff, and every sync"
            f" still writes it; {who} writes it back",
            evidence=(
                cite(case.application, at, says="the rule that hides it"),
                cite(hidden.desired, hidden.pointer, says="Git says this"),
                cite(hidden.live, hidden.pointer, says="the cluster says this"),
                cite(case.application, "/spec/syncPolicy", says="without RespectIgnoreDifferences=true"),
            ),
            fixes=(
                Fix.application(
                    case.application.ref,
                    Add(pointer="/spec/syncPolicy/syncOptions", value=RESPECT),
                    title="Respect the ignore rules when syncing too",
                ),
                Fix.remove(hidden.live.ref, hidden.pointer, title="Or drop the field from Git"),
            ),
        )


def _other_writer(case: Case, hidden: HiddenDifference) -> str:
    writer = hidden.writer
    if writer is not None and writer.kind not in _QUIET:
        return phrase(writer)
    autoscaler = case.autoscaler_of(hidden.live.ref) if hidden.pointer == "/spec/replicas" else None
    return str(autoscaler.ref) if autoscaler is not None else ""
