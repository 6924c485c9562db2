"""Every scenario of the lab: its first fix is proven, or it says for which reason that cannot be."""

from __future__ import annotations

from functools import cache

import pytest

from whysync import app
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import ProofStatus
from whysync.diagnosis.report import AppReport, Report
from whysync.diagnosis.world import World
from whysync.lab.library import built_in, names
from whysync.lab.playing import play

PERSON = "for a person"
LOOKS = "it changes nothing"
NOTHING_WRONG = "nothing is wrong"
UNRENDERED = "what Git renders to is not known"
# Scenario: part of the reason that its first fix gives for not being proven.
EXCEPTIONS = {
    "admission-denied": PERSON,  # which value the policy wants
    "broken-helm-values": UNRENDERED,
    "cached-error": UNRENDERED,
    "crash-loop": LOOKS,  # what the log names has to be mended by a person
    "crd-from-operator": "install the operator",  # the operator is in no facts
    "crd-without-health-check": NOTHING_WRONG,
    "credentials-expired": UNRENDERED,
    "dead-webhook": PERSON,  # get the webhook's pods running
    "hook-without-deadline": PERSON,  # what the hook waits for is outside
    "ignored-and-still-written": NOTHING_WRONG,
    "image-missing": "docker manifest inspect",  # which image exists
    "migration-dead-database": PERSON,  # the database is outside
    "missing-secret": "which values Secret search-credentials has to hold",
    "misspelt-field": LOOKS,  # how the field is called; that it can go is proven second
    "polling-lag": NOTHING_WRONG,
    "prune-gone-wrong": "git log",  # what the commit held that removed it
    "quota": PERSON,  # what is to be asked for
    "repo-unreachable": UNRENDERED,
    "shared-resource": "from the source of the app that should not own it",
    "shared-resource-refused": "out of the source of the Application that should not own it",
    "sync-window": LOOKS,  # to wait; that it can be opened is proven second
    "wave-in-progress": NOTHING_WRONG,
    "wave-stalled": LOOKS,  # which storage class works
}
# Images that never ran in the scenario: on the model they do.
ASSUMED = {"hook-leftover": "billing/billing-migrate:3.1.1", "missing-service-account": "ops/exporter:3.3.0"}
QUIET = ("crd-and-cr-in-one-wave", "hook-works-on-staging")


@cache
def diagnosed(name: str) -> Report:
    return app.diagnose(app.cases(World(play(built_in(name)).snapshot())))


def firsts(name: str) -> list[tuple[AppReport, Finding]]:
    return [(one, one.first) for one in diagnosed(name).apps if one.first is not None]


@pytest.mark.parametrize("name", names())
def test_the_first_fix_is_proven_or_says_why_not(name: str) -> None:
    found = firsts(name)
    assert bool(found) == (name not in QUIET)
    for _, finding in found:
        fix = finding.fixes[0]
        if name in EXCEPTIONS:
            assert fix.proof.status is not ProofStatus.PROVEN, "an exception too many"
            assert EXCEPTIONS[name] in fix.proof.why
        else:
            assert fix.proof.status is ProofStatus.PROVEN
            image = f"assumed: that registry.example.com/{ASSUMED.get(name)} runs, which nobody has seen"
            assert fix.proof.why == (image if name in ASSUMED else "")
            assert fix.proof.trace[0] == "without the fix"
            assert "with the fix" in fix.proof.trace


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
    again = app.diagnose(app.cases(World(play(built_in(name)).snapshot())))
    assert [one.findings for one in again.apps] == [one.findings for one in diagnosed(name).apps]


def test_a_loop_is_shown_with_its_period_and_both_writers() -> None:
    (_, finding), *_ = firsts("hpa-loop")
    loop = next(line for line in finding.fixes[0].proof.trace if line.strip().startswith("loop"))
    assert "/spec/replicas: Argo CD sets 1" in loop
    assert "HorizontalPodAutoscaler production/my-api-service sets 3 again" in loop
    assert "about every" in loop
