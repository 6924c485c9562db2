"""What a finding says about itself."""

from __future__ import annotations

import pytest

from whysync.diagnosis import Confidence, Finding
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import Writer, WriterKind

_ARGOCD = Writer(manager="argocd-controller", kind=WriterKind.ARGOCD)
_KYVERNO = Writer(manager="kyverno", kind=WriterKind.WEBHOOK)


@pytest.mark.parametrize(
    ("cause", "writer", "confidence", "words"),
    [
        (
            "webhook-injected",
            _ARGOCD,
            Confidence.HIGH,
            "a webhook, in a request of Argo CD (argocd-controller)",
        ),
        ("webhook-injected", _ARGOCD, Confidence.LOW, "Argo CD (argocd-controller)"),
        ("webhook-injected", _KYVERNO, Confidence.HIGH, "an admission webhook's own software (kyverno)"),
        ("manual-edit", _ARGOCD, Confidence.HIGH, "Argo CD (argocd-controller)"),
        ("manual-edit", None, Confidence.HIGH, ""),
    ],
)
def test_a_webhook_changes_what_somebody_else_sends(
    cause: str, writer: Writer | None, confidence: Confidence, words: str
) -> None:
    finding = Finding(
        about=Ref(kind="Deployment", name="shop"),
        verdict="",
        cause=cause,
        confidence=confidence,
        writer=writer,
    )
    assert finding.written_by == words
