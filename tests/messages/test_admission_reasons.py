"""What a denial's reason names: fields, and the object that the denied one collides with."""

import pytest

from whysync.messages.patterns.admission import AdmissionDenied, PolicyEngine


def denial(reason: str) -> AdmissionDenied:
    return AdmissionDenied(text=reason, engine=PolicyEngine.WEBHOOK, reason=reason)


@pytest.mark.parametrize(
    ("reason", "other"),
    [
        ('host "a" and path "/" is already defined in ingress shop/old', ("ingress", "shop", "old")),
        ("same selector as service <old> in namespace <shop>", ("service", "shop", "old")),
        ("the workload 'x' is already managed by the ScaledObject 'old'", ("ScaledObject", "", "old")),
        ("image used by container 'web' has no digest", ("", "", "")),
        ("label is already used in namespace 'shop'", ("", "", "")),
    ],
)
def test_the_other_object(reason: str, other: tuple[str, str, str]) -> None:
    conflicting = denial(reason).other
    assert (conflicting.kind, conflicting.namespace, conflicting.name) == other


@pytest.mark.parametrize(
    ("reason", "fields"),
    [
        (
            'Privileged container is not allowed: shop, securityContext: {"privileged": true}',
            ("securityContext.privileged: true",),
        ),
        (
            "The field spec.containers[*].securityContext.runAsNonRoot must be set to true.",
            ("spec.containers[*].securityContext.runAsNonRoot",),
        ),
        ('you must provide labels: {"owner", "team"}', ("metadata.labels.owner", "metadata.labels.team")),
        ("no deploys on Fridays", ()),
    ],
)
def test_the_fields(reason: str, fields: tuple[str, ...]) -> None:
    assert denial(reason).fields == fields
