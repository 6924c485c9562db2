"""A message that names no object is about an object of the app, not about the Application."""

import pytest

from tests.situations import application, case_of
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose

MESSAGES = (
    'admission webhook "validate.kyverno.svc-fail" denied the request: policy limits failed',
    "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest"
    " version and try again",
    "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update",
    "the server could not find the requested resource",
    "illegal base64 data at input byte 4",
    '"" is invalid: patch: Invalid value: "map[]" cannot convert int64 to string',
    'error validating data: ValidationError(Deployment.spec): unknown field "replica"',
    'spec.selector: Invalid value: "x": field is immutable',
    "updates to statefulset spec for fields other than 'replicas', 'template' are forbidden",
    "exceeded quota: compute, requested: cpu=2, used: cpu=1, limited: cpu=2",
    "maximum memory usage per Container is 2Gi, but limit is 4Gi",
    "metadata.annotations: Too long: must have at most 262144 bytes",
    'Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas',
    "the namespace of the provided object does not match the namespace sent on the request",
    "metadata.managedFields must be nil",
    "Request entity too large: limit is 3145728",
    "etcdserver: request is too large",
    'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
    'violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)',
)


@pytest.mark.parametrize("message", MESSAGES)
def test_application_is_not_blamed_for_an_object_that_the_message_does_not_name(message: str) -> None:
    case = case_of(
        application(
            sync="OutOfSync",
            status={
                "operationState": {
                    "phase": "Failed",
                    "message": f"one or more objects failed to apply, reason: {message}",
                    "startedAt": "2026-03-02T03:00:00Z",
                    "finishedAt": "2026-03-02T03:01:00Z",
                    "operation": {"sync": {}},
                }
            },
        )
    )

    finding = diagnose(case, diagnosis_rules()).findings[0]

    texts = [finding.verdict, finding.field or "", *(text for fix in finding.fixes for text in _texts(fix))]
    assert not [text for text in texts if "Application argocd/shop" in text or "namespace argocd" in text]
    assert not [text for text in texts if "explain application" in text or "application shop" in text]
    assert not (finding.about.kind == "Application" and finding.field)


def _texts(fix: Fix) -> tuple[str, ...]:
    return (fix.title, fix.risk, *fix.commands, *fix.destroys)
