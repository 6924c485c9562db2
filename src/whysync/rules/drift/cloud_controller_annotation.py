"""A cloud or load-balancer controller writes annotations on the object.

## What happens
Controllers record their state in annotations: the id of a load balancer, the backends of an Ingress, the
provisioner of a volume. Git does not declare them. Argo CD ignores annotations that only the live object has,
except in some versions and diff strategies, or if Git contains an old copy of the annotation.

## How whysync knows
The annotation that differs is one that such a controller writes.

## Fix
Delete the annotation from Git if it was copied there. Otherwise ignore only this annotation (write its
slash as `~1` in the JSON pointer).

## When it is something else
Annotations that configure a controller (`service.beta.kubernetes.io/aws-load-balancer-type`) are settings: if
they differ, someone changed them.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, rule
from whysync.kubernetes.field_writers import phrase
from whysync.queries.drift import drift_finding
from whysync.queries.ignore_rules import ignore_field, risk_of_ignoring


@rule(cause="cloud-annotation", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def cloud_controller_annotation(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.CLOUD_ANNOTATION):
        writer = drift.writer
        who = phrase(writer) if writer else "a cloud or load-balancer controller"
        name = drift.last_key
        drop = Fix.remove(drift.ref, drift.pointer, title="Delete the annotation from Git")
        risk = risk_of_ignoring(drift, "none: the controller owns the annotation")
        ignore = ignore_field(case, drift.ref, drift.pointer, risk=risk)
        yield drift_finding(
            drift,
            writer=writer,
            confidence=Confidence.HIGH if writer else Confidence.MEDIUM,
            verdict=f"{who} writes annotation {name} of {drift.ref}",
            fixes=(ignore,) if drift.only_live else (drop, ignore),
        )
