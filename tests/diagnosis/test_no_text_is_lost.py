"""No text is lost: what is reported is explained by a finding, quoted in the report, over, or harmless.

The texts are collected here from the raw objects, independently of `messages_of_case`.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.played import played
from tests.rules.bench import BUNDLES, case_name, load_case
from tests.shared import CORPUS, needs_shared
from tests.situations import application, case_of, row
from tools.corpus import FILES, load
from whysync.diagnosis.case import Case
from whysync.diagnosis.report import AppReport, Report
from whysync.diagnosis.reported_texts import reported_texts_of
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose, explained_by
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.diagnosis.symptoms import is_history
from whysync.facts.bundle import read_bundle
from whysync.json_tree import Json, Object, fields, items, text
from whysync.lab.library import names
from whysync.messages.parse import understand
from whysync.reports import diagnose_json, diagnose_markdown, diagnose_text, json_yaml
from whysync.reports.terminal import Terminal


def diagnosed(case: Case) -> AppReport:
    return diagnose(case, diagnosis_rules())


def reported_texts(case: Case) -> Iterator[tuple[str, str]]:
    """Where a text is, and the text: in the status of the Application, and in Warnings about its parts."""
    status = fields(case.application.body.get("status"))
    for raw in items(status.get("conditions")):
        yield "condition", text(fields(raw).get("message"))
    operation = fields(status.get("operationState"))
    if operation.get("phase") != "Succeeded":
        yield "operation", text(operation.get("message"))
    for raw in items(fields(operation.get("syncResult")).get("resources")):
        yield "result", text(fields(raw).get("message"))
    for raw in (status, *items(status.get("resources"))):
        health = fields(fields(raw).get("health"))
        if health.get("status") not in (None, "Healthy"):
            yield "health", text(health.get("message"))
    for manifest, event in case.index.events:
        if event.type == "Warning" and case.concerns(event.about):
            yield "event", text(manifest.body.get("message"))


def strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def lost_in(case: Case) -> list[tuple[str, str]]:
    report = diagnosed(case)
    explained = explained_by(report.findings, case.symptoms)
    shown = json.loads(json_yaml.as_json(diagnose_json.report_v1(Report(apps=(report,), groups=()))))
    quoted = "\n".join(strings(shown))
    all_reported = tuple(reported_texts_of(case))
    lost: list[tuple[str, str]] = []
    for origin, message in reported_texts(case):
        if not message or not understand(message).failures or message.strip() in quoted:
            continue
        own = [reported for reported in all_reported if message.strip() in reported.text]
        if not own or not all(
            reported.symptom in explained or is_over(case, origin, reported.symptom) for reported in own
        ):
            lost.append((origin, message))
    return lost


def is_over(case: Case, origin: str, symptom: SymptomId) -> bool:
    """Past events and results are not symptoms; everything else that is reported is one."""
    past = [
        reported
        for reported in reported_texts_of(case)
        if reported.symptom == symptom and is_history(case, reported)
    ]
    applied = origin == "result" and symptom not in case.symptom_ids
    return bool(past) or applied


@pytest.mark.parametrize("folder", BUNDLES, ids=case_name)
def test_in_the_cases_of_rules(folder: Path) -> None:
    assert lost_in(load_case(folder)) == []


@pytest.mark.parametrize("name", names())
def test_in_the_lab(name: str) -> None:
    world = SnapshotIndex(played(name).snapshot())
    for manifest, app in world.decoded:
        assert lost_in(Case(world, manifest, app)) == []


@needs_shared
@pytest.mark.parametrize("name", FILES)
def test_in_the_corpus(name: str, tmp_path: Path) -> None:
    sys.path.insert(0, str(CORPUS))
    try:
        to_bundle = load(CORPUS / "to_bundle.py")
    finally:
        sys.path.remove(str(CORPUS))
    for line in (CORPUS / name).read_text().splitlines():
        case = json.loads(line)
        with contextlib.redirect_stdout(io.StringIO()):
            to_bundle.bundle(case, tmp_path / case["id"])
        world = SnapshotIndex(read_bundle([tmp_path / case["id"]]))
        for manifest, app in world.decoded:
            assert lost_in(Case(world, manifest, app)) == [], case["id"]


def deployment(**status: Json) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "generation": 1},
        "spec": {"replicas": 1},
        "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, **status},
    }


def pod(**status: Json) -> Object:
    owner: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": [owner]},
        "status": {**status},
    }


def progressing(*objects: Object) -> Case:
    rows: list[Json] = [row("Deployment", "web", health={"status": "Progressing"})]
    return case_of(application(health="Progressing", status={"resources": rows}), *objects)


def unread(case: Case) -> list[str]:
    return [symptom.text for symptom in case.symptoms if symptom.unread]


@pytest.mark.parametrize("state", ["state", "lastState"])
def test_the_state_of_a_container_is_read(state: str) -> None:
    waiting: Object = {"waiting": {"reason": "OddError", "message": "nobody has ever seen this"}}
    status: Object = {"name": "web", "ready": False, state: waiting}
    assert unread(progressing(deployment(), pod(initContainerStatuses=[status]))) == [
        "OddError: nobody has ever seen this"
    ]


def test_the_words_of_a_program_are_quoted_and_not_parsed() -> None:
    """A refused connection of the program is not one of Argo CD."""
    ended: Object = {
        "exitCode": 1,
        "reason": "Error",
        "message": "dial tcp 10.0.0.1:6443: connection refused",
    }
    status: Object = {"name": "web", "ready": False, "state": {"terminated": ended}}
    case = progressing(deployment(), pod(containerStatuses=[status]))
    assert unread(case) == [
        "container web failed with exit code 1: dial tcp 10.0.0.1:6443: connection refused"
    ]
    assert case.reported_failures == ()


def test_the_login_of_another_controller_is_not_that_of_argocd() -> None:
    condition: Object = {
        "type": "Available",
        "status": "False",
        "reason": "Odd",
        "message": "authentication required: Repository not found",
    }
    assert understand(text(condition["message"])).failures
    assert unread(progressing(deployment(conditions=[condition]))) == [
        "Odd: authentication required: Repository not found"
    ]


@pytest.mark.parametrize(
    ("type", "status", "counts"),
    [
        ("Ready", "False", True),
        ("Ready", "True", False),
        ("Stalled", "True", True),
        ("Stalled", "False", False),
        ("TokenMinted", "False", True),
        ("TokenMinted", "Unknown", True),
        ("TokenMinted", "True", False),
        ("LicenseLapsed", "True", True),
        ("LicenseLapsed", "False", False),
        ("DiskPressure", "False", False),
        ("Paused", "False", False),
        ("Upgrading", "False", False),
        ("Unmanaged", "False", False),
    ],
)
def test_conditions_of_any_kind_are_read_as_kstatus_does(type: str, status: str, *, counts: bool) -> None:
    condition: Object = {"type": type, "status": status, "reason": "Odd", "message": "never seen"}
    assert unread(of_widget({"conditions": [condition]})) == (["Odd: never seen"] if counts else [])


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            {"phase": "Sideways", "message": "the capacitor drifted"},
            ["phase is Sideways: the capacitor drifted"],
        ),
        ({"state": "Sideways"}, ["state is Sideways"]),
        ({"phase": "NotReady"}, ["phase is NotReady"]),
        *(
            ({"phase": phase}, [])
            for phase in ("Ready", "AllReplicasReady", "Normal", "Unlocked", "Disabled")
        ),
        *(({"phase": phase}, []) for phase in ("Pending", "ScalingUp", "Setting up primary", "green", "3/3")),
        ({"phase": "Sideways", "conditions": [{"type": "Ready", "status": "True"}]}, []),
    ],
)
def test_a_phase_that_nobody_knows_is_quoted(status: Object, expected: list[str]) -> None:
    assert unread(of_widget(status)) == expected


@pytest.mark.parametrize(
    "condition",
    [
        {
            "type": "Progressing",
            "status": "False",
            "reason": "AsExpected",
            "message": "desired state reached",
        },
        {"type": "Active", "status": "False", "reason": "NoTraffic", "message": "it receives no traffic"},
        {"type": "TokenMinted", "status": "False", "reason": "NotRequired", "message": "no token is needed"},
        {"type": "TokenMinted", "status": "False", "reason": "Minting", "message": "minting is in progress"},
        {
            "type": "TokenMinted",
            "status": "False",
            "severity": "Info",
            "reason": "Odd",
            "message": "never seen",
        },
        {"type": "TokenMinted", "status": "False"},
        {"type": "Monitored", "status": "True", "reason": "NoErrors", "message": "no failures were detected"},
    ],
)
def test_a_condition_that_reports_no_problem_does_not_count(condition: Object) -> None:
    assert unread(of_widget({"conditions": [condition]})) == []


def test_a_ready_object_is_not_questioned() -> None:
    odd: Object = {"type": "TokenMinted", "status": "False", "reason": "Odd", "message": "never seen"}
    assert unread(of_widget({"conditions": [{"type": "Ready", "status": "True"}, odd]})) == []


def of_widget(status: Object) -> Case:
    widget: Object = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop"},
        "status": status,
    }
    return case_of(application(status={"resources": [row("Widget", "w", group="example.com")]}), widget)


def test_a_pod_below_a_healthy_deployment_does_not_count() -> None:
    waiting: Object = {"waiting": {"reason": "OddError", "message": "nobody has ever seen this"}}
    status: Object = {"name": "web", "ready": False, "state": waiting}
    healthy = deployment(availableReplicas=1, readyReplicas=1)
    rows: list[Json] = [row("Deployment", "web", health={"status": "Healthy"})]
    assert (
        case_of(application(status={"resources": rows}), healthy, pod(containerStatuses=[status])).symptoms
        == ()
    )


def result(**more: Json) -> Object:
    return {"kind": "ConfigMap", "version": "v1", "namespace": "shop", "name": "settings", **more}


def synced_with(message: str, **more: Json) -> Case:
    resources: list[Json] = [result(message=message, **more)]
    operation: Object = {"phase": "Failed", "message": "", "syncResult": {"resources": resources}}
    rows: list[Json] = [row("ConfigMap", "settings", "OutOfSync")]
    return case_of(application(sync="OutOfSync", status={"resources": rows, "operationState": operation}))


FORBIDDEN = (
    'configmaps "settings" is forbidden: User "system:serviceaccount:argocd:argocd-application-controller" '
    'cannot patch resource "configmaps" in API group "" in the namespace "shop"'
)


def test_a_result_without_a_status_is_read() -> None:
    report = diagnosed(synced_with(FORBIDDEN))
    assert report.first is not None
    assert report.first.cause == "k8s-rbac"


def test_a_result_without_a_status_that_is_not_understood_is_quoted() -> None:
    assert SymptomKind.RESULT in {s.kind for s in synced_with("never seen").symptoms if s.unread}
    assert SymptomKind.RESULT in {
        s.kind for s in synced_with("never seen", status="Synced").symptoms if s.unread
    }
    healthy = synced_with("never seen", status="Synced", hookPhase="Succeeded")  # a health message
    assert not any(s.unread for s in healthy.symptoms)


def test_the_message_of_a_missing_row_is_read() -> None:
    health: Object = {"status": "Missing", "message": "the server could not find the requested resource"}
    rows: list[Json] = [row("Widget", "w", "OutOfSync", health=health, group="example.com", version="v1")]
    report = diagnosed(case_of(application(sync="OutOfSync", status={"resources": rows})))
    assert report.first is not None
    assert report.first.cause == "missing-crd"


def odd_event() -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.1", "namespace": "shop"},
        "type": "Warning",
        "reason": "OddReason",
        "message": "the flux capacitor is empty",
        "involvedObject": {"kind": "Deployment", "namespace": "shop", "name": "web", "apiVersion": "apps/v1"},
    }


def test_what_is_not_understood_is_quoted_under_its_object_in_every_form() -> None:
    report = Report(apps=(diagnosed(case_of(application(), odd_event())),), groups=())
    shown = diagnose_text.render(report, Terminal(width=100))
    assert "nothing is wrong" not in shown
    assert "no problem" not in shown
    assert (
        "reported, not understood\n      Deployment shop/web\n        OddReason: the flux capacitor is empty"
        in shown
    )
    assert (
        "## Reported, not understood\n\n- `Deployment shop/web`: OddReason: the flux"
        in diagnose_markdown.render(report)
    )
    (quoted,) = json.loads(json_yaml.as_json(diagnose_json.report_v1(report)))["apps"][0]["notUnderstood"]
    assert (quoted["ref"]["name"], quoted["text"]) == ("web", "OddReason: the flux capacitor is empty")


def test_an_unread_text_stops_a_conclusion_from_absence() -> None:
    """Without the event, the Deployment of a young sync is called still coming up."""
    operation: Object = {"phase": "Succeeded", "finishedAt": "2026-03-02T03:09:00Z"}
    status: Object = {
        "resources": [row("Deployment", "web", health={"status": "Progressing"})],
        "operationState": operation,
    }
    app = application(health="Progressing", status=status)
    quiet = diagnosed(case_of(app))
    assert [finding.rule for finding in quiet.findings] == ["rollout_in_progress"]
    report = diagnosed(case_of(app, odd_event()))
    assert report.findings == ()
    assert [symptom.text for symptom in report.not_understood] == ["OddReason: the flux capacitor is empty"]


def test_a_result_of_a_sync_is_never_of_the_repo_server() -> None:
    text = "rpc error: code = Unavailable desc = transport is closing"
    report = diagnosed(synced_with(text, status="SyncFailed"))
    assert report.first is not None
    assert (report.first.cause, report.first.confidence.value) == ("cluster-unreachable", "low")
