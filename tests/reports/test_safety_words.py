"""The word before the reasons follows from their kinds, whatever the sentences say."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.proofs.worlds import bundle
from tests.situations import application, case_of
from whysync.diagnosis.fix import Fix, Proof, ProofStatus
from whysync.diagnosis.report import Reason, ReasonKind, Report, Safety, SyncOutcome, SyncSafety
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.json_tree import fields
from whysync.proofs.sync_safety import safety_of
from whysync.reports.diagnose_json import app_v1
from whysync.reports.diagnose_text import SyncVerdict, render, sync_verdict
from whysync.reports.proof_text import ProofMark, mark_of, proof_mark
from whysync.reports.terminal import Terminal


@pytest.mark.parametrize(
    ("kind", "verdict", "text"),
    [
        (ReasonKind.CREATES, SyncVerdict.SAFE, "It will fail in name only"),
        (ReasonKind.MAY_PASS, SyncVerdict.SAFE_BUT, "it will fail in name only"),
        (ReasonKind.FAILED_BEFORE, SyncVerdict.NOT_NOW, "It will fail in name only"),
        (ReasonKind.DOES_NOT_HELP, SyncVerdict.SAFE_BUT, "it will fail in name only"),
        (ReasonKind.REFUSED, SyncVerdict.NOT_NOW, "It will fail in name only"),
    ],
)
def test_verdict_depends_on_the_kind_of_the_reason_not_its_text(
    kind: ReasonKind, verdict: SyncVerdict, text: str
) -> None:
    report = diagnose(case_of(bundle(), application()), diagnosis_rules())
    safety = Safety(sync=SyncSafety.SAFE, reasons=(Reason(kind=kind, text="it will fail in name only"),))
    assert sync_verdict(replace(report, safety=safety)) == (verdict, text)


def test_an_app_that_is_being_deleted_refuses_a_sync() -> None:
    app = application()
    app["metadata"] = {**fields(app["metadata"]), "deletionTimestamp": "2026-03-02T03:00:00Z"}
    report = diagnose(case_of(bundle(), app), diagnosis_rules())
    written = app_v1(replace(report, safety=safety_of(report.case))).safety
    assert (written.sync, written.outcome) == (SyncSafety.SAFE, SyncOutcome.FAILS)
    assert [reason.kind for reason in written.reasons] == [ReasonKind.REFUSED]


def test_a_comparison_error_fails_the_sync_though_its_safety_is_unknown() -> None:
    safety = safety_of(case_of(bundle(), application(sync="Unknown")))
    assert (safety.sync, safety.outcome) == (SyncSafety.UNKNOWN, SyncOutcome.FAILS)


def test_the_verdict_is_below_the_headline_and_in_color() -> None:
    report = diagnose(case_of(bundle(), application(sync="OutOfSync")), diagnosis_rules())
    unsafe = Safety(sync=SyncSafety.UNSAFE, reasons=(Reason(kind=ReasonKind.DELETES, text="it deletes it"),))
    page = render(Report(apps=(replace(report, safety=unsafe),), groups=()), Terminal(color=True))
    lines = str(page).splitlines()
    verdict = next(number for number, line in enumerate(lines) if "sync now?" in line)
    assert "\x1b[1;31mNO\x1b[0m" in lines[verdict]
    assert verdict <= 2


@pytest.mark.parametrize("sync", [SyncSafety.SAFE, SyncSafety.UNKNOWN])
def test_a_sync_that_fails_is_answered_alike_with_and_without_the_manifests(sync: SyncSafety) -> None:
    report = diagnose(case_of(bundle(), application()), diagnosis_rules())
    reasons = (Reason(kind=ReasonKind.SYNC_FAILS, text="it fails again"),)
    safety = Safety(sync=sync, outcome=SyncOutcome.FAILS, reasons=reasons)
    assert sync_verdict(replace(report, safety=safety)) == (SyncVerdict.NOT_NOW, "It fails again")


def test_a_fix_that_destroys_something_has_no_mark_of_success() -> None:
    good = Fix.run("kubectl get pods", title="Look")
    proven = replace(good, proof=Proof(status=ProofStatus.PROVEN))
    assert mark_of(proven, Terminal()) == "✓ proven"
    assert proof_mark(proven) is ProofMark.PROVEN
    destructive = replace(proven, destroys=("the volume",))
    assert mark_of(destructive, Terminal()) == proof_mark(destructive) == "destructive"
