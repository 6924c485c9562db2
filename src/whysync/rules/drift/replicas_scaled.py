"""The number of replicas differs, and the facts do not show what scaled the workload.

## What happens
Git declares `replicas`, but the workload runs with another number. There are two possible writers: an
autoscaler (a HorizontalPodAutoscaler, KEDA, a scheduled downscaler) writes it again after every sync; a
person changes it once with `kubectl scale`, and a sync undoes that.

## How whysync knows
`/spec/replicas` differs at the revision that was synced, managedFields are not among the facts, and neither
is an autoscaler. If self-heal is on and the last sync succeeded, it is an autoscaler: self-heal would have
undone a manual change.

## Fix
Find the writer. If it is an autoscaler, remove `replicas` from Git, or ignore the field and set
`RespectIgnoreDifferences=true`. If a person scaled it, commit the number, or sync to restore Git's.

## When it is something else
If the autoscaler is among the facts, `replicas_owned_by_autoscaler` names it; if managedFields are, they name
the writer. If Git has changed since the last sync, the new commit has not been synced yet.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Drift, Evidence, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.diagnosis.drift.mechanism import synced_at_current_revision
from whysync.json_tree import Missing
from whysync.queries.commands import kubectl, on_object, sync, with_comment
from whysync.queries.drift import drift_finding, live_values
from whysync.queries.field_removal import removal_risk
from whysync.queries.ignore_rules import ignore_field


@rule(cause="controller-owned", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def replicas_scaled(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.SCALED):
        healed = case.self_heals and synced_at_current_revision(case)
        who = (
            "scaled by an autoscaler that the facts do not show (self-heal would undo a manual change)"
            if healed
            else "scaled by an autoscaler or with kubectl scale (the facts show neither)"
        )
        yield drift_finding(
            drift,
            writer=drift.writer,
            verdict=f"{drift.ref} runs with {drift.live_value} replicas, but {_wanted(case, drift)}: {who}",
            confidence=Confidence.MEDIUM if healed else Confidence.LOW,
            evidence=(*drift.cited(), *_self_heal(case, healed=healed)),
            fixes=tuple(_fixes(case, drift, healed=healed)),
        )


def _wanted(case: Case, drift: Drift) -> str:
    if _is_declared(case, drift):
        return f"Git declares {drift.desired_value}"
    return f"Git declares none, and Argo CD compares with {drift.desired_value}"


def _is_declared(case: Case, drift: Drift) -> bool:
    """Argo CD compares with a default if the last-applied annotation has replicas and Git has not."""
    declared = case.desired_of(drift.key)
    return declared is None or not isinstance(declared.at(drift.pointer), Missing)


def _self_heal(case: Case, *, healed: bool) -> Iterator[Evidence]:
    if healed:
        yield cite(case.application, "/spec/syncPolicy/automated/selfHeal", says="self-heal is on")
        yield cite(case.application, "/status/operationState/phase", says="the last sync succeeded")


def _fixes(case: Case, drift: Drift, *, healed: bool) -> Iterator[Fix]:
    yield Fix.run(
        kubectl("get", "hpa", namespace=drift.ref.namespace),
        with_comment(kubectl("get", "scaledobjects", namespace=drift.ref.namespace), "if KEDA is installed"),
        on_object("get", drift.ref, "-o", "yaml", "--show-managed-fields"),
        title="Find the writer: the autoscaler of this workload, or the manager of spec.replicas",
    )
    if _is_declared(case, drift):
        yield Fix.remove(
            drift.ref,
            drift.pointer,
            title="An autoscaler scales it: remove replicas from Git",
            risk=removal_risk(case, drift.ref, drift.pointer, writer="the autoscaler"),
        )
    yield ignore_field(case, drift.ref, drift.pointer)
    if not healed:
        yield Fix.change(
            drift.ref, *live_values([drift]), title="It was scaled by hand and the number is right: commit it"
        )
        yield Fix.run(
            sync(case, "--resource", quote(f"{drift.ref.group}:{drift.ref.kind}:{drift.ref.place}")),
            title="It was scaled by hand and Git is right: sync this resource",
            risk="starts or stops Pods; the change may be part of incident response: ask first",
        )
