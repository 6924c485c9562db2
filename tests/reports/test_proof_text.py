"""Refuted, likely and unproven fixes in each form: their words come from a cluster, and stay words."""

from __future__ import annotations

from msgspec.structs import replace

from tests.proofs.worlds import large_app
from tests.situations import case_of
from whysync.diagnosis.finding import Confidence, RejectedFix
from whysync.diagnosis.fix import Fix, Proof, ProofStatus
from whysync.diagnosis.report import Report
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.reports import diagnose_json, diagnose_markdown, diagnose_short, diagnose_text
from whysync.reports.terminal import Terminal

TERMINAL = Terminal(width=80, color=False, unicode=True)
TRACE = ("without the fix", "   +0:00  OutOfSync · Healthy \x1b[31m", "with the fix", "   +9:00  Synced")


def report(proof: Proof, *rejected: RejectedFix) -> Report:
    app_report = diagnose(case_of(*large_app(4, 1)), diagnosis_rules())
    finding = app_report.findings[0]
    fixes = tuple(replace(fix, proof=proof) for fix in finding.fixes)
    findings = (replace(finding, fixes=fixes, rejected_fixes=rejected),)
    return Report(apps=(replace(app_report, findings=findings),), groups=())


def shown(document: Report, *, wide: bool = False, proofs: bool = False) -> list[str]:
    return [
        line.strip()
        for line in diagnose_text.render(document, TERMINAL, wide=wide, proofs=proofs).splitlines()
    ]


def test_a_gap_is_named_below_the_fix() -> None:
    document = report(Proof(status=ProofStatus.LIKELY, rounds=3, why="not known: the values", trace=TRACE))
    lines = shown(document)
    assert any(line.endswith("… likely") for line in lines)
    assert "not known: the values" in lines
    assert "likely: it helps on a model of the cluster; not known: the values" in diagnose_markdown.render(
        document
    )


def test_why_there_is_no_proof_is_said_where_all_is_wanted() -> None:
    document = report(Proof(why="the facts have no manifests"))
    assert not any("proven" in line for line in shown(document))
    assert "not proven: the facts have no manifests" in shown(document, wide=True)
    assert "not proven: the facts have no manifests" in shown(document, proofs=True)


def test_what_is_refuted_is_not_offered_and_can_be_seen() -> None:
    refuted = RejectedFix(title="Prune last", why="with it Deployment shop/web differs")
    document = report(Proof(), refuted)
    assert not any("Prune last" in line for line in shown(document))
    assert any(line.startswith("rejected     Prune last: with it") for line in shown(document, wide=True))
    assert "- Do not use “Prune last”: with it Deployment shop/web differs" in diagnose_markdown.render(
        document
    )
    data = diagnose_json.report_v1(document).apps[0].findings[0].rejected_fixes
    assert [(rejected.title, rejected.why) for rejected in data] == [(refuted.title, refuted.why)]


def test_a_timeline_holds_nothing_that_a_terminal_obeys() -> None:
    document = report(Proof(status=ProofStatus.PROVEN, rounds=3, trace=TRACE))
    lines = shown(document, proofs=True)
    assert "without the fix" in lines
    assert not any("\x1b" in line for line in lines)


def test_why_nothing_was_tried_is_said_once_where_several_apps_have_fixes() -> None:
    document = report(Proof(why="the facts have no manifests"))
    fine = replace(document.apps[0], findings=())
    assert not any("fixes were" in line for line in shown(Report(apps=(*document.apps, fine), groups=())))
    twice = shown(Report(apps=document.apps * 2, groups=()))
    assert twice[-1] == "fixes were not simulated: the facts have no manifests"


def test_further_fixes_are_named_without_their_steps() -> None:
    document = report(Proof(status=ProofStatus.PROVEN, rounds=3))
    finding = document.apps[0].findings[0]
    first = finding.fixes[0]
    second = Fix.run("kubectl delete deployment web", title="Delete it", destroys=("Deployment shop/web",))
    app = replace(document.apps[0], findings=(replace(finding, fixes=(first, second)),))
    document = Report(apps=(app,), groups=())
    assert any(line.startswith("fix 2") and line.endswith("destructive") for line in shown(document))
    assert not any("kubectl delete" in line for line in shown(document))
    assert any("kubectl delete" in line for line in shown(document, wide=True))


def test_a_doubtful_finding_has_checks_before_anything_is_changed() -> None:
    document = report(Proof())
    finding = document.apps[0].findings[0]
    reads = Fix.run("kubectl -n shop get hpa", title="Look for an autoscaler")
    changes = Fix.run("kubectl -n shop delete pod web", title="Delete the Pod")
    doubtful = replace(finding, confidence=Confidence.LOW, fixes=(reads, changes))
    document = Report(apps=(replace(document.apps[0], findings=(doubtful,)),), groups=())
    lines = shown(document)
    assert "check        kubectl -n shop get hpa" in lines
    assert "candidate    Delete the Pod" in lines
    assert not any("Look for" in line or "delete pod" in line for line in lines)
    assert diagnose_short.render(document, fleet=False).splitlines()[2] == "check: kubectl -n shop get hpa"
    page = diagnose_markdown.render(document)
    assert page.index("check first") < page.index("delete pod")
