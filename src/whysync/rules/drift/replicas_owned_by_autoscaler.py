"""Git and an autoscaler both set the number of replicas.

## What happens
Every sync writes `spec.replicas` from Git; the autoscaler (a HorizontalPodAutoscaler, a KEDA ScaledObject,
a FleetAutoscaler …) then writes its own number. The Application is OutOfSync again minutes after each sync;
with self-heal it syncs in a loop.

## How whysync knows
`/spec/replicas` differs, and a live autoscaler targets that workload.

## Fix
Delete `spec.replicas` from the manifest in Git: the autoscaler owns it. With client-side apply, this sync can
reset the workload to 1 replica for a moment. Or ignore the field together with
`RespectIgnoreDifferences=true`; without this option a sync still writes an ignored field.

## When it is something else
If no autoscaler targets the workload, someone scaled it by hand.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, cite, rule
from whysync.queries.drift import drift_finding
from whysync.queries.field_removal import removal_risk
from whysync.queries.ignore_rules import ignore_field

REPLICAS = "/spec/replicas"


@rule(cause="controller-owned", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def replicas_owned_by_autoscaler(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_at(REPLICAS):
        autoscaler = case.autoscaler_of(drift.ref)
        if autoscaler is None or drift.only_live:
            continue
        yield drift_finding(
            drift,
            writer=drift.writer,
            verdict=f"{autoscaler.ref} sets {drift.live_value} replicas of {drift.ref}, but Git declares"
            f" {drift.desired_value}",
            confidence=Confidence.HIGH,
            evidence=(
                *drift.cited(),
                cite(autoscaler, "/spec/scaleTargetRef", says="the autoscaler's target"),
            ),
            fixes=(
                Fix.remove(
                    drift.ref,
                    REPLICAS,
                    title="Let the autoscaler own it: remove replicas from Git",
                    risk=removal_risk(case, drift.ref, REPLICAS, writer="the autoscaler"),
                ),
                ignore_field(case, drift.ref, REPLICAS),
            ),
        )
