"""The cases of all rules: whatever they hold, a proof is an answer, the same each time, and no rule's first
fix is refuted."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.situations import ROOT
from whysync import app
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import ProofStatus
from whysync.diagnosis.report import AppReport, Report

# A dry run that changes the spec increments metadata.generation, which IncludeMutationWebhook compares as
# well: ignoring the field does not help.
REJECTED = {"mutated_by_webhook/replicas_with_webhooks_in_the_diff": "Ignore /spec/replicas of this object"}
CASES = tuple(sorted((ROOT / "tests/rules").glob("*/*/*/case.yaml")))


def diagnose(path: Path) -> Report:
    return app.diagnose(app.cases(app.read(app.FactSource(bundles=(str(path),)))))


diagnosed = cache(diagnose)


def name_of(path: Path) -> str:
    return "/".join(path.parts[-3:-1])


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_every_fix_has_an_answer(path: Path) -> None:
    for report in diagnosed(path).apps:
        for finding in report.findings:
            for fix in finding.fixes:
                assert "could not be tried" not in fix.proof.why
                assert "does not settle" not in fix.proof.why
                assert fix.proof.why or fix.proof.status is ProofStatus.PROVEN
                assert bool(fix.proof.trace) == (fix.proof.status is not ProofStatus.NOT_RUN)
                assert bool(fix.proof.rounds) == (fix.proof.status is not ProofStatus.NOT_RUN)
            expected = REJECTED.get(name_of(path))
            titles = [fix.title.partition(",")[0] for fix in finding.rejected_fixes]
            assert titles == ([expected] if expected else [])


def test_many_are_proven() -> None:
    proofs = [_proofs(app) for path in CASES for app in diagnosed(path).apps]
    proven = sum(statuses.count(ProofStatus.PROVEN) for statuses in proofs)
    assert proven >= 70


def _proofs(report: AppReport) -> list[ProofStatus]:
    return [
        fix.proof.status
        for finding in report.findings
        if finding.severity is not Severity.INFO and not finding.caused_by
        for fix in finding.fixes
    ]


@pytest.mark.parametrize("path", CASES[::12], ids=name_of)
def test_the_same_each_time(path: Path) -> None:
    first, second = diagnosed(path), diagnose(path)
    assert [app.findings for app in first.apps] == [app.findings for app in second.apps]
