"""A sync that would fail: its cause is a finding, although the facts show no failure yet."""

from __future__ import annotations

from tests.played import played
from tests.proofs.worlds import bundle, deployment, in_git, running, synced, there
from tests.situations import case_of, row
from whysync.app import cases, diagnose
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import ProofStatus
from whysync.diagnosis.report import AppReport, ReasonKind, SyncOutcome
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.json_tree import Object, fields

NEW_COMMIT = "b" * 40


def selecting(**labels: str) -> Object:
    matched: Object = dict(labels)
    body = deployment("shop")
    spec = fields(body["spec"])
    template: Object = {**fields(spec["template"]), "metadata": {"labels": matched}}
    return {**body, "spec": {**spec, "selector": {"matchLabels": matched}, "template": template}}


def report(*, live: Object, desired: Object, phase: str = "Succeeded", complete: bool = True) -> AppReport:
    app = synced(row("Deployment", "shop", "OutOfSync", group="apps"), sync="OutOfSync")
    status = fields(app["status"])
    fields(status["sync"])["revision"] = NEW_COMMIT
    fields(status["operationState"])["phase"] = phase
    case = case_of(bundle(), app, in_git(desired), there(running(live)) if complete else live)
    return diagnose([case]).apps[0]


def predicted(app_report: AppReport) -> list[Finding]:
    return [finding for finding in app_report.findings if finding.predicted]


def test_an_immutable_field_in_a_new_commit_is_found_before_the_sync() -> None:
    app_report = report(live=selecting(app="shop"), desired=selecting(app="shop", tier="web"))
    [finding] = predicted(app_report)
    assert (finding.cause, finding.field, finding.about.kind) == (
        "immutable-field",
        "/spec/selector",
        "Deployment",
    )
    assert app_report.findings[0].cause == "new-commit"  # what the facts show comes first
    assert finding.explains == ()
    assert {evidence.source for evidence in finding.evidence} == {"desired", "live"}
    assert finding.fixes[0].proof is not None
    assert finding.fixes[0].proof.status is ProofStatus.PROVEN
    assert app_report.safety.outcome is SyncOutcome.FAILS
    assert app_report.safety.reasons[0].text == f"it would fail: {finding.verdict}"
    [sync] = app_report.findings[0].fixes
    assert sync.risk.startswith("it would fail")


def test_a_sync_that_succeeds_has_no_such_finding() -> None:
    new_image = fields(selecting(app="shop")["spec"])
    fields(fields(fields(new_image)["template"])["spec"])["containers"] = [
        {"name": "main", "image": "shop:2"}
    ]
    desired: Object = {**selecting(app="shop"), "spec": new_image}
    app_report = report(live=selecting(app="shop"), desired=desired)
    assert predicted(app_report) == []
    assert app_report.safety.outcome is SyncOutcome.SUCCEEDS


def test_nothing_is_predicted_if_the_simulation_does_not_show_the_present_state() -> None:
    incomplete = there(selecting(app="shop"))  # without the defaults of the API server
    app_report = report(live=incomplete, desired=selecting(app="shop"), complete=False)
    assert ReasonKind.MODEL_DIFFERS in {reason.kind for reason in app_report.safety.reasons}
    assert predicted(app_report) == []


def test_a_failure_that_the_facts_show_is_not_predicted() -> None:
    app_report = report(live=selecting(app="shop"), desired=selecting(app="shop", tier="web"), phase="Failed")
    assert predicted(app_report) == []


def test_a_cause_that_is_reported_is_not_predicted_again() -> None:
    index = SnapshotIndex(played("broken-health-check").snapshot())
    given = diagnose(cases(index)).apps[0]
    assert given.findings[0].cause == "health-script-error"
    assert predicted(given) == []
