"""Every scenario of the lab says whether its first fix is proven, or for which reason that cannot be."""

from __future__ import annotations

import msgspec
import pytest

from tests.played import diagnosed
from whysync import app
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import ProofStatus
from whysync.diagnosis.report import AppReport
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.json_tree import copy_object, dig, fields, items
from whysync.lab.library import built_in, names
from whysync.lab.player import play


def firsts(name: str) -> list[tuple[AppReport, Finding]]:
    return [(app, app.first) for app in diagnosed(name).apps if app.first is not None]


@pytest.mark.parametrize("name", names())
def test_the_scenario_says_how_far_its_first_fix_is_proven_and_it_is(name: str) -> None:
    """What each of them expects is compared by the tests of the lab; here, that none is silent about it."""
    expects = {expect.app: expect for expect in built_in(name).expects}
    for report in diagnosed(name).apps:
        expected = expects.get(report.name)
        if expected is None or expected.gone:
            assert report.first is None, "something is wrong with it, and nothing was expected"
            continue
        assert expected.safety is not None
        assert expected.fix is not None
        assert (expected.fix.proof == "none") == (report.first is None)
        if report.first is not None and report.first.fixes[0].proof.status is ProofStatus.PROVEN:
            trace = report.first.fixes[0].proof.trace
            assert trace[0] == "without the fix"
            assert "with the fix" in trace


@pytest.mark.parametrize("name", names())
def test_nothing_is_refuted_nor_fails(name: str) -> None:
    """A first fix that does not help on the model of its own scenario would be a fault of its rule."""
    for report in diagnosed(name).apps:
        for finding in report.findings:
            assert finding.rejected_fixes == ()
            for fix in finding.fixes:
                assert "could not be tried" not in fix.proof.why
                assert fix.proof.status is ProofStatus.PROVEN or fix.proof.why


@pytest.mark.parametrize("name", names())
def test_what_destroys_is_never_first(name: str) -> None:
    for report in diagnosed(name).apps:
        for finding in report.findings:
            destroying = [bool(fix.destroys) for fix in finding.fixes]
            assert destroying == sorted(destroying)


@pytest.mark.parametrize("name", ["hpa-loop", "namespace-missing", "rename", "target-namespace-rbac"])
def test_the_same_facts_give_the_same_proof(name: str) -> None:
    again = app.diagnose(app.cases(SnapshotIndex(play(built_in(name)).snapshot())))
    assert [app.findings for app in again.apps] == [app.findings for app in diagnosed(name).apps]


def test_a_loop_is_shown_with_its_period_and_both_writers() -> None:
    (_, finding), *_ = firsts("hpa-loop")
    loop = next(line for line in finding.fixes[0].proof.trace if line.strip().startswith("loop"))
    assert "/spec/replicas: Argo CD sets 1" in loop
    assert "HorizontalPodAutoscaler production/my-api-service sets 3 again" in loop
    assert "about every" in loop


def test_a_retry_is_told_as_argo_cd_tells_it_now() -> None:
    """The model counts on, to attempts that nobody has seen."""
    (report,) = diagnosed("retry-holds-old-commit").apps
    assert report.case.operation is not None
    message = report.case.operation.message
    assert "Retrying attempt #3" in message
    assert f"it is retried: {message}" in [reason.text for reason in report.safety.reasons]


def test_a_webhook_whose_configuration_was_not_read_is_not_taken_for_removed() -> None:
    """Argo CD's API does not show it: after another sync the API server calls the webhook again."""
    snapshot = play(built_in("dead-webhook")).snapshot()
    live = tuple(obj for obj in snapshot.live if not obj.ref.kind.endswith("WebhookConfiguration"))
    unread = msgspec.structs.replace(snapshot, live=live)
    (report,) = app.diagnose(app.cases(SnapshotIndex(unread))).apps
    assert report.first is not None
    assert report.first.cause == "webhook-down"
    assert {fix.proof.status for fix in report.first.fixes} & {ProofStatus.PROVEN} == set()


def test_a_sync_that_exceeded_its_timeout_is_not_proven_to_take_less_time() -> None:
    """As Argo CD 3.2 reports it: the hook that still ran was deleted, and counts as succeeded."""
    snapshot = play(built_in("sync-timeout")).snapshot()
    body = copy_object(snapshot.applications[0].body)
    for result in map(fields, items(dig(body, "status", "operationState", "syncResult", "resources"))):
        if result.get("message") == "Terminated":
            result |= {"message": "Deleted", "hookPhase": "Succeeded", "status": ""}
    applications = (snapshot.applications[0].with_body(body),)
    older = msgspec.structs.replace(snapshot, applications=applications)
    (report,) = app.diagnose(app.cases(SnapshotIndex(older))).apps
    assert report.first is not None
    assert (report.first.cause, "was still running" in report.first.verdict) == ("sync-timeout", True)
    assert {fix.proof.status for fix in report.first.fixes} & {ProofStatus.PROVEN} == set()
