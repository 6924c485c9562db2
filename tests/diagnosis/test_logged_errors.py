"""An error that only the log of a container reports weighs less while the app is Healthy."""

from __future__ import annotations

import pytest

from tests.situations import ROOT
from whysync import app
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.bundle import read_bundle

CASES = ROOT / "tests/rules/apply"


def first_finding(name: str) -> Finding:
    snapshot = read_bundle([CASES / name / "case"])
    return app.diagnose(app.cases(SnapshotIndex(snapshot)), prove=False).apps[0].findings[0]


@pytest.mark.parametrize(
    "name",
    [
        "forbidden_by_kubernetes_rbac/controller_of_the_app",
        "crd_missing/controller_of_the_app_asks_for_it",
        "admission_webhook_unreachable/controller_of_the_app",
    ],
)
def test_a_refused_request_of_a_healthy_controller_is_a_warning(name: str) -> None:
    finding = first_finding(name)
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.MEDIUM)
