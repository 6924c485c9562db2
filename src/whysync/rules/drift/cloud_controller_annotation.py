"""A cloud or load-balancer controller writes annotations on the object.

## What happens
Controllers keep notes on the objects that they serve: the id of a load balancer, backends of an ingress, the
provisioner of a volume. Git never had them. Argo CD does not count annotations that only the cluster has,
except in some versions and ways of comparing, or where Git has an old copy of the note.

## How whysync knows
The annotation that differs is one that such a controller is known to write.

## Fix
Delete the annotation from Git where it was copied there. Else ignore exactly this annotation (its
slash is written `~1` in the pointer).

## When it is something else
Annotations that people write for a controller to read (`service.beta.kubernetes.io/aws-load-balancer-type`)
are settings: if they differ, somebody changed them.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, rule
from whysync.kubernetes.field_writers import phrase
from whysync.queries.drift import drift_finding
from whysync.queries.ignore_rules import ignore_field


@rule(cause="cloud-annotation", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def cloud_controller_annotation(case: Case) -> Iterator[Finding]:
    for drift in case.drifts_by(Mechanism.CLOUD_ANNOTATION):
        writer = drift.writer
        who = phrase(writer) if writer else "a cloud or load-balancer controller"
        name = drift.last_key
        drop = Fix.remove(drift.ref, drift.pointer, title="Delete the controller's note from Git")
        ignore = ignore_field(case, drift.ref, drift.pointer, risk="none: the note is the controller's own")
        yield drift_finding(
            drift,
            writer=writer,
            confidence=Confidence.HIGH if writer else Confidence.MEDIUM,
            verdict=f"{who} writes the annotation {name} on {drift.ref}",
            fixes=(ignore,) if drift.only_live else (drop, ignore),
        )
