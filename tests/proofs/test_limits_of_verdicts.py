"""What limits a verdict: findings, options, parts of the facts that are missing."""

from __future__ import annotations

import logging

import pytest
from msgspec.structs import replace

from tests.proofs.test_bounded_verdicts import known, reported, verdict
from tests.proofs.worlds import bundle, synced
from tests.situations import case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix, Set
from whysync.diagnosis.report import AppReport, Reason, ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.diagnosis.symptom import Side, SymptomKind
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Ref
from whysync.proofs.sync_safety import bounded, safety_of, with_predicted_failure

UPDATES = ReasonKind.UPDATES
DENIED = "permission denied: applications, {action}, default/shop, sub: alice, iat: 2026-03-02T01:00:00Z"
SYNC = "argocd app sync shop"


def with_condition(message: str) -> Case:
    condition: Object = {"type": "SyncError", "message": message}
    return known(app=synced(row("ConfigMap", "settings"), conditions=[condition]))


# --- findings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "action", "refused"),
    [
        ("argocd-rbac", "sync", True),
        ("argocd-rbac", "override", False),
        ("repo-auth", "sync", False),
    ],
)
def test_a_denied_account_is_refused(cause: str, action: str, *, refused: bool) -> None:
    root = reported(Side.HEALTH, cause=cause, kind=SymptomKind.UNHEALTHY)
    safety = bounded(verdict(UPDATES), with_condition(DENIED.format(action=action)), [root])
    assert [reason.kind for reason in safety.reasons] == [ReasonKind.REFUSED if refused else UPDATES]


@pytest.mark.parametrize("sync", [SyncSafety.SAFE, SyncSafety.UNKNOWN])
def test_what_is_rendered_differently_each_time_does_not_last(sync: SyncSafety) -> None:
    root = reported(Side.DRIFT, cause="nondeterministic", kind=SymptomKind.DIFFERS)
    safety = bounded(verdict(UPDATES, sync=sync), known(), [replace(root, severity=Severity.WARNING)])
    expected = [ReasonKind.DOES_NOT_LAST] if sync is SyncSafety.SAFE else []
    assert [reason.kind for reason in safety.reasons] == [*expected, UPDATES]
    said = verdict(ReasonKind.SYNC_LOOP)
    assert bounded(said, known(), [replace(root, severity=Severity.WARNING)]) is said


@pytest.mark.parametrize(
    ("side", "text"),
    [
        (Side.DRIFT, "Argo CD sees no difference, so it changes nothing"),
        (Side.FRESH, "it does not help: nothing differs, so it changes nothing"),
    ],
)
def test_a_difference_that_argo_cd_hides_is_not_denied(side: Side, text: str) -> None:
    reasons = (Reason(kind=ReasonKind.CHANGES_NOTHING, text="nothing differs, so it changes nothing"),)
    simulated = Safety(sync=SyncSafety.SAFE, outcome=SyncOutcome.SUCCEEDS, reasons=reasons)
    root = replace(
        reported(side, cause="undetected-drift", kind=SymptomKind.DIFFERS), severity=Severity.WARNING
    )
    assert bounded(simulated, known(), [root]).reasons[0].text == text


# --- a failure that only the simulation shows ---------------------------------------------------------


def failing(
    *, phase: str = "Succeeded", kinds: tuple[ReasonKind, ...] = (ReasonKind.SYNC_FAILS,)
) -> AppReport:
    app = synced(row("ConfigMap", "settings"))
    fields(fields(app["status"])["operationState"])["phase"] = phase
    report = diagnose(known(app=app), diagnosis_rules())
    target = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")
    edit = Fix.change(target, Set(pointer="/data/a", value="c"), title="Edit it")
    fixes = (
        Fix.run(SYNC, title="Sync"),
        Fix.run(SYNC, title="Sync all", risk="undoes the change"),
        edit,
        replace(edit, commands=(SYNC,)),
        Fix.run("kubectl get pods", title="Look"),
    )
    finding = replace(reported(), fixes=fixes)
    safety = verdict(*kinds, outcome=SyncOutcome.FAILS)
    return replace(report, findings=(finding,), safety=safety)


PREDICTED = Finding(
    about=Ref(kind="ConfigMap", name="settings"), verdict="it is too large", confidence=Confidence.HIGH
)


def _predicted(_: object) -> Finding:
    return PREDICTED


@pytest.fixture
def predicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whysync.proofs.predicted_failure.predicted_failure", _predicted)


@pytest.mark.usefixtures("predicts")
def test_fixes_that_only_sync_carry_the_predicted_failure_as_a_risk() -> None:
    report = with_predicted_failure(failing())
    assert report.findings[-1] is PREDICTED
    assert [reason.text for reason in report.safety.reasons] == ["it would fail: it is too large"]
    assert [fix.risk for fix in report.findings[0].fixes] == [
        "it would fail: see below",
        "it would fail: see below; undoes the change",
        "",
        "",
        "",
    ]


@pytest.mark.usefixtures("predicts")
@pytest.mark.parametrize(
    "report",
    [
        failing(phase="Failed"),
        failing(kinds=(ReasonKind.SYNC_HANGS,)),
        failing(kinds=(ReasonKind.SYNC_FAILS, ReasonKind.MODEL_DIFFERS)),
        replace(failing(), safety=verdict(ReasonKind.SYNC_FAILS)),
    ],
    ids=["failed-before", "hangs", "model-differs", "succeeds"],
)
def test_nothing_is_predicted_beside_a_known_failure_or_doubts(report: AppReport) -> None:
    assert with_predicted_failure(report) is report


def test_a_prediction_that_breaks_or_finds_nothing_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = "whysync.proofs.predicted_failure.predicted_failure"
    report = failing()

    def finds_nothing(_: object) -> None:
        return None

    monkeypatch.setattr(name, finds_nothing)
    assert with_predicted_failure(report) is report

    def fails(_: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr(name, fails)
    with caplog.at_level(logging.DEBUG):
        assert with_predicted_failure(report) is report
    assert [record.exc_info is not None for record in caplog.records] == [True]


# --- the simulation -----------------------------------------------------------------------------------


def pruned(*kinds: str, options: tuple[str, ...] = ()) -> str:
    """The first reason for an app without manifests whose rows would be pruned."""
    rows = [row(kind, kind.lower(), "OutOfSync", requiresPruning=True) for kind in kinds]
    app = synced(*rows, sync="OutOfSync", spec={"syncPolicy": {"syncOptions": [*options]}})
    return safety_of(case_of(bundle(), app)).reasons[0].text


def test_what_a_prune_would_delete_is_named_without_manifests() -> None:
    missing = "the facts have no manifests of this app"
    assert pruned() == missing
    assert pruned("ConfigMap") == f"{missing}; with --prune it deletes ConfigMap shop/configmap"
    assert pruned("ConfigMap", "PersistentVolumeClaim") == (
        f"{missing}; with --prune it deletes PersistentVolumeClaim shop/persistentvolumeclaim:"
        " its data (unless its volume has reclaim policy Retain)"
    )
    assert pruned("ConfigMap", options=("Prune=false",)) == missing


@pytest.mark.parametrize(
    ("cause", "confidence", "sync"),
    [
        ("stale-state", Confidence.HIGH, SyncSafety.SAFE),
        ("stale-state", Confidence.LOW, SyncSafety.UNKNOWN),
        ("ignore-rule-miss", Confidence.LOW, SyncSafety.SAFE),
        ("new-commit", Confidence.HIGH, SyncSafety.UNKNOWN),
    ],
)
def test_a_row_without_a_difference_needs_an_explanation(
    cause: str, confidence: Confidence, sync: SyncSafety
) -> None:
    case = known(app=synced(row("ConfigMap", "settings", "OutOfSync"), sync="OutOfSync"))
    about = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")
    finding = Finding(
        about=about, verdict="why", confidence=confidence, cause=cause, severity=Severity.WARNING
    )
    safety = safety_of(case, [finding])
    assert safety.sync is sync
    assert (ReasonKind.MODEL_DIFFERS in {reason.kind for reason in safety.reasons}) is (
        sync is not SyncSafety.SAFE
    )


def _unknown(_: object) -> tuple[str, str]:
    return "Unknown", ""


def test_objects_that_cannot_be_compared_leave_it_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whysync.proofs.simulated_case.SimulatedCase.sync_and_health", property(_unknown))
    app = synced(row("ConfigMap", "settings", "OutOfSync"), sync="OutOfSync")
    safety = safety_of(known(app=app))
    assert (safety.sync, [(reason.kind, reason.text) for reason in safety.reasons]) == (
        SyncSafety.UNKNOWN,
        [
            (
                ReasonKind.MODEL_DIFFERS,
                "the objects in the facts are not complete enough to compare them",
            )
        ],
    )
