"""`-o wide` agrees with the answer: what a finding blames is not hidden, and there is one root cause."""

from __future__ import annotations

from msgspec.structs import replace

from tests.rules.bench import HERE, load_case
from tests.situations import application, case_of
from whysync import app
from whysync.diagnosis.finding import Confidence, Finding
from whysync.diagnosis.report import AppReport, Report
from whysync.kubernetes.api.ref import Ref
from whysync.reports.diagnose_text import render
from whysync.reports.terminal import Terminal


def shown(report: AppReport) -> str:
    return render(Report(apps=(report,), groups=()), Terminal(width=110), wide=True)


def test_a_difference_that_a_finding_blames_is_not_called_hidden() -> None:
    case = load_case(HERE / "drift/api_server_default/cluster_ip_rendered_empty")
    report = app.diagnose([case], prove=False).apps[0]
    assert "hidden " not in shown(report)
    assert "hidden       Service web/shop /spec/clusterIP" in shown(replace(report, findings=()))


def test_a_consequence_has_no_root_cause() -> None:
    report = app.diagnose([case_of(application())], prove=False).apps[0]
    killed = Finding(
        about=Ref(kind="Pod", name="web"), verdict="killed", root="OOMKilled", confidence=Confidence.HIGH
    )
    probe = replace(killed, verdict="the probe fails", root="503", caused_by=("memory",))
    text = shown(replace(report, findings=(killed, probe)))
    assert text.count("root cause") == 1
    assert "    503\n" in text
