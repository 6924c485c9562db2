"""A proof moves what its finding is about: in an app where all is wrong, some resources stand for many."""

from __future__ import annotations

import cProfile
import pstats
from functools import cache
from typing import cast

from tests.proofs.worlds import bundle, deployment, in_git, large_app, synced
from tests.situations import REVISION, case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import ProofStatus
from whysync.diagnosis.report import AppReport
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.json_tree import Json, Object, fields
from whysync.proofs.prove import prove
from whysync.proofs.scope import finding_scope


def without_a_namespace(count: int) -> Case:
    """A first sync that fails for each resource in the same way."""
    names = [f"web-{number:03}" for number in range(count)]
    message = 'namespaces "shop" not found'
    results: list[Json] = [
        {**row("Deployment", name), "status": "SyncFailed", "message": message, "syncPhase": "Sync"}
        for name in names
    ]
    rows = [row("Deployment", name, "OutOfSync", health={"status": "Missing"}) for name in names]
    app = synced(*rows, sync="OutOfSync")
    status = fields(app["status"])
    status["health"] = {"status": "Missing"}
    failed: Object = {
        "phase": "Failed",
        "message": f"one or more objects failed to apply, reason: {message}",
        "syncResult": {"revision": REVISION, "resources": results},
    }
    status["operationState"] = {**fields(status["operationState"]), **failed}
    return case_of(bundle(), app, *(in_git(deployment(name)) for name in names))


@cache
def drifted(count: int) -> AppReport:
    return diagnose(case_of(*large_app(60, count)), diagnosis_rules())


def test_where_little_is_wrong_all_of_it_moves() -> None:
    report = drifted(2)
    assert [finding_scope(report.case, finding) for finding in report.findings] == [None] * len(
        report.findings
    )


def test_where_much_is_wrong_each_finding_moves_its_own() -> None:
    report = drifted(10)
    assert len(report.findings) == 6  # Deployments only
    for finding in report.findings:
        assert finding_scope(report.case, finding) == frozenset({finding.about.key})
    for finding in prove(report).findings:
        assert {fix.proof.status for fix in finding.fixes} == {ProofStatus.PROVEN}
        assert {fix.proof.why for fix in finding.fixes} == {""}


def test_some_stand_for_many_that_fail_alike_and_that_is_said() -> None:
    report = prove(diagnose(without_a_namespace(60), diagnosis_rules()))
    finding = report.findings[0]
    assert finding.rule == "namespace_missing"
    assert [(fix.proof.status, fix.proof.why) for fix in finding.fixes] == [
        (ProofStatus.PROVEN, "simulated with 8 of 60 resources")
    ] * 2


def calls(case: Case) -> int:
    report = diagnose(case, diagnosis_rules())
    profile = cProfile.Profile()
    profile.enable()
    prove(report)
    profile.disable()
    return cast("int", vars(pstats.Stats(profile))["total_calls"])


def test_proofs_grow_with_what_is_tried_not_with_the_app() -> None:
    calls(without_a_namespace(45))
    assert calls(without_a_namespace(180)) < calls(without_a_namespace(45)) * 1.8
    small = calls(case_of(*large_app(40, 5)))
    assert calls(case_of(*large_app(200, 5))) < small * 1.8
    assert calls(case_of(*large_app(40, 20))) < small * 6
