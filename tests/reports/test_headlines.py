"""Headlines: at most three lines of 80 columns, with the reason kept; times are no steps of a chain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.situations import application, case_of
from whysync import app
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Confidence, Finding
from whysync.diagnosis.report import AppReport, Report
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.bundle import read_bundle
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Ref
from whysync.reports.diagnose_text import headline_of, is_shortened, render
from whysync.reports.terminal import Terminal

LONGEST = 240
REF = Ref(version="v1", kind="Pod", namespace="shop", name="web")


def finding(verdict: str, *, root: str | None = None, evidence: tuple[Evidence, ...] = ()) -> Finding:
    return Finding(about=REF, verdict=verdict, confidence=Confidence.HIGH, root=root, evidence=evidence)


def shown(finding: Finding, *, wide: bool = False) -> str:
    report: AppReport = replace(
        app.diagnose([case_of(application())], prove=False).apps[0], findings=(finding,)
    )
    return render(Report(apps=(report,), groups=()), Terminal(width=80), wide=wide)


def test_a_short_verdict_is_the_headline() -> None:
    assert headline_of(finding("the quota is exceeded: pods=10")) == "the quota is exceeded: pods=10"
    assert "in full" not in shown(finding("the quota is exceeded"))


def test_of_a_long_error_its_start_and_its_end_are_kept() -> None:
    wrapped = ": ".join(f"layer {number} of the error adds words of its own" for number in range(12))
    verdict = f"Argo CD cannot render the app: {wrapped}: values.yaml is missing"
    head = headline_of(finding(verdict))
    assert head.startswith("Argo CD cannot render the app: …: layer")
    assert head.endswith(": values.yaml is missing")
    assert len(head) <= LONGEST
    text = shown(finding(verdict))
    assert "in full" in text
    assert "layer 0 of" in text.partition("in full")[2]


@pytest.mark.parametrize("verdict", ["x " * 400, "y" * 400, f"{'z' * 300}: end"])
def test_a_text_without_parts_is_cut(verdict: str) -> None:
    assert is_shortened(finding(verdict))
    assert len(headline_of(finding(verdict))) <= LONGEST


def test_of_sentences_the_first_ones_are_kept() -> None:
    verdict = f"Pod shop/web was evicted: The node was low on resource: memory. Container {'web ' * 100}"
    head = headline_of(finding(verdict))
    assert head == "Pod shop/web was evicted: The node was low on resource: memory …"


def test_a_reason_at_the_end_of_the_evidence_is_kept() -> None:
    """The chain ends with the root; a short root needs the words in front of it, which are at the end too."""
    message = f"failed to load: {'wrapped ' * 60}failed to fetch anonymous token: 401 Unauthorized"
    cited = Evidence(source="application", ref=REF, pointer="/status", value=message, says="the error")
    text = " ".join(shown(finding("refused", root="401 Unauthorized", evidence=(cited,))).split())
    assert "failed to fetch anonymous token: 401 Unauthorized (Application /status)" in text


def test_a_field_that_is_absent_is_said_to_be() -> None:
    cited = Evidence(source="application", ref=REF, pointer="/spec/syncPolicy", value=None, says="auto-sync")
    assert "auto-sync: not set (Application /spec/syncPolicy)" in shown(finding("refused", evidence=(cited,)))


TIME = Evidence(source="live", ref=REF, pointer="/a", value="2026-03-02T03:00:00Z", says="when it began")
STATE = Evidence(source="live", ref=REF, pointer="/b", value="Failed", says="how it ended")


@pytest.mark.parametrize("root", ["disk full", None])
def test_a_time_is_not_a_step(root: str | None) -> None:
    text = shown(finding("it failed", root=root, evidence=(TIME, STATE)))
    assert "how it ended: Failed" in text
    assert "when it began" not in text
    assert "when it began" in shown(finding("it failed", root=root, evidence=(TIME, STATE)), wide=True)
    assert "when it began" in shown(finding("it failed", root=root, evidence=(TIME,)))


def test_request_that_was_denied_is_no_failed_sync(tmp_path: Path) -> None:
    """Only the log shows the denial, and no operation ran."""
    (tmp_path / "applications").mkdir()
    (tmp_path / "applications" / "shop.json").write_text(json.dumps(application()))
    log = tmp_path / "logs" / "argocd" / "argocd-server-0" / "main.log"
    log.parent.mkdir(parents=True)
    log.write_text(
        "rpc error: code = PermissionDenied desc = permission denied: applications, sync, default/shop\n"
    )
    (tmp_path / "bundle.yaml").write_text("{apiVersion: whysync.dev/v1, kind: Bundle}\n")

    reports = app.diagnose(app.cases(SnapshotIndex(read_bundle([str(tmp_path)]))), prove=False)

    text = render(reports, Terminal(width=100), wide=False)
    assert "error in the log: Argo CD's RBAC does not allow" in " ".join(text.split())
    assert "sync failed" not in text


def test_nothing_ran_where_auto_sync_refused_to_delete_everything(tmp_path: Path) -> None:
    (tmp_path / "applications").mkdir()
    skipped = "Skipping sync attempt to [4f1c2a9]: auto-sync will wipe out all resources"
    app_object = application(status={"conditions": [{"type": "SyncError", "message": skipped}]})
    (tmp_path / "applications" / "shop.json").write_text(json.dumps(app_object))
    (tmp_path / "bundle.yaml").write_text("{apiVersion: whysync.dev/v1, kind: Bundle}\n")

    reports = app.diagnose(app.cases(SnapshotIndex(read_bundle([str(tmp_path)]))), prove=False)

    text = render(reports, Terminal(width=100), wide=False)
    assert "not synced: the source renders no manifests" in " ".join(text.split())
    assert "sync failed" not in text
    assert "will not try this commit again" not in text


def test_what_the_first_fix_does_is_not_repeated(tmp_path: Path) -> None:
    """A cached error needs a hard refresh, which the fix of the rendering error includes."""
    cached = (
        "rpc error: code = Unknown desc = Manifest generation error (cached): `helm dependency build`"
        " failed signal: killed"
    )
    (tmp_path / "applications").mkdir()
    app_object = application(
        sync="Unknown", status={"conditions": [{"type": "ComparisonError", "message": cached}]}
    )
    (tmp_path / "applications" / "shop.json").write_text(json.dumps(app_object))
    (tmp_path / "bundle.yaml").write_text("{apiVersion: whysync.dev/v1, kind: Bundle}\n")

    reports = app.diagnose(app.cases(SnapshotIndex(read_bundle([str(tmp_path)]))), prove=False)

    assert [finding.cause for finding in reports.apps[0].findings] == ["repo-server-down", "cached-error"]
    text = render(reports, Terminal(width=100), wide=False)
    assert "--hard-refresh" in text
    assert "repeats a cached error" not in text
    assert "repeats a cached error" in render(reports, Terminal(width=100), wide=True)


def test_the_state_of_the_object_that_a_sync_waits_for_is_not_unexplained(tmp_path: Path) -> None:
    operation: Object = {
        "phase": "Running",
        "message": "waiting for healthy state of apps/StatefulSet/db",
        "startedAt": "2026-03-01T09:00:00Z",
        "operation": {"sync": {}},
    }
    row: Object = {"group": "apps", "version": "v1", "kind": "StatefulSet", "namespace": "shop", "name": "db"}
    other: Object = {
        **row,
        "kind": "Deployment",
        "name": "web",
        "status": "Synced",
        "health": {"status": "Degraded"},
    }
    row |= {"status": "Synced", "health": {"status": "Progressing"}}
    (tmp_path / "applications").mkdir()
    app_object = application(
        health="Degraded", status={"operationState": operation, "resources": [row, other]}
    )
    (tmp_path / "applications" / "shop.json").write_text(json.dumps(app_object))
    (tmp_path / "bundle.yaml").write_text(
        "{apiVersion: whysync.dev/v1, kind: Bundle, collectedAt: '2026-03-01T10:00:00Z'}\n"
    )

    reports = app.diagnose(app.cases(SnapshotIndex(read_bundle([str(tmp_path)]))), prove=False)

    text = render(reports, Terminal(width=100), wide=False)
    assert "running for 60 min and waits for StatefulSet shop/db to become healthy" in " ".join(text.split())
    assert "unexplained  StatefulSet" not in text
