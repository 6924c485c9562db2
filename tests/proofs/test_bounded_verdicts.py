"""Verdicts on a sync that follow from the facts and findings, without a simulation."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.proofs.worlds import NOW, bundle, in_git, settings, synced, there
from tests.situations import application, case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import AlreadyFixed, Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.report import Reason, ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.diagnosis.symptom import Side, SymptomId, SymptomKind
from whysync.facts.snapshot import Head
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Ref
from whysync.proofs.sync_safety import bounded, failed_before_text, safety_of

CONFIG = settings("settings")
PROJECT: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "default", "namespace": "argocd"},
    "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]},
}
HOOK: Object = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "migrate",
        "namespace": "shop",
        "annotations": {"argocd.argoproj.io/hook": "PreSync", "whysync.dev/role": "desired"},
    },
    "spec": {"template": {"spec": {"containers": [{"name": "m", "image": "m:1"}]}}},
}


def known(*more: Object, app: Object | None = None) -> Case:
    """A Case with its manifest and live object."""
    return case_of(
        bundle(), app or synced(row("ConfigMap", "settings")), in_git(CONFIG), there(CONFIG), *more
    )


def reported(
    side: Side = Side.APPLY,
    *,
    cause: str = "repo-auth",
    severity: Severity = Severity.CRITICAL,
    kind: SymptomKind = SymptomKind.OPERATION,
) -> Finding:
    return Finding(
        about=Ref(kind="Application", name="shop"),
        verdict="the reason",
        confidence=Confidence.HIGH,
        severity=severity,
        side=side,
        cause=cause,
        explains=(SymptomId(kind),),
    )


def verdict(
    *kinds: ReasonKind,
    sync: SyncSafety = SyncSafety.SAFE,
    outcome: SyncOutcome = SyncOutcome.SUCCEEDS,
) -> Safety:
    reasons = tuple(Reason(kind=kind, text=f"it {kind.value}") for kind in kinds)
    return Safety(sync=sync, outcome=outcome, reasons=reasons)


def kinds_of(safety: Safety) -> list[ReasonKind]:
    return [reason.kind for reason in safety.reasons]


def reason_texts(safety: Safety) -> list[str]:
    return [reason.text for reason in safety.reasons]


UPDATES = ReasonKind.UPDATES
OTHER = reported(Side.HEALTH, kind=SymptomKind.UNHEALTHY, severity=Severity.WARNING)


# --- what findings leave as it is ----------------------------------------------------------------


@pytest.mark.parametrize(
    "simulated",
    [
        verdict(ReasonKind.DELETES, sync=SyncSafety.UNSAFE),
        verdict(ReasonKind.REFUSED, outcome=SyncOutcome.FAILS),
        verdict(ReasonKind.SYNC_RUNNING),
    ],
    ids=lambda simulated: simulated.reasons[0].kind.value,
)
def test_damage_and_a_sync_that_does_not_start_are_the_verdict(simulated: Safety) -> None:
    """A finding must not hide that data is lost, nor that nothing would happen at all."""
    for finding in (reported(), reported(Side.COMPARE), reported(cause="controller-stale")):
        assert bounded(simulated, known(), [finding]) is simulated


@pytest.mark.parametrize(
    "finding",
    [
        reported(severity=Severity.INFO),
        replace(reported(), caused_by=("another",)),
        replace(reported(), already_fixed=AlreadyFixed(fixes=())),
    ],
)
def test_notices_consequences_and_fixed_findings_do_not_count(finding: Finding) -> None:
    simulated = verdict(ReasonKind.CHANGES_NOTHING)
    assert bounded(simulated, known(), [finding]) is simulated


def test_a_warning_does_not_make_the_comparison_unknown() -> None:
    simulated = verdict(UPDATES)
    warning = reported(Side.COMPARE, severity=Severity.WARNING, kind=SymptomKind.CONDITION)
    assert bounded(simulated, known(), [warning]) is simulated
    assert bounded(simulated, known(), []) is simulated


# --- a sync that does not start ------------------------------------------------------------------


def test_a_running_sync_is_the_only_reason() -> None:
    state: Object = {"phase": "Running", "operation": {"sync": {}}, "startedAt": "2026-03-02T03:00:00Z"}
    case = known(app=synced(row("ConfigMap", "settings"), operationState=state))
    safety = bounded(verdict(UPDATES, outcome=SyncOutcome.FAILS), case, [reported()])
    assert (safety.sync, safety.outcome) == (SyncSafety.SAFE, SyncOutcome.FAILS)
    assert reason_texts(safety) == ["a sync is already running; Argo CD refuses another one until it ends"]


def test_doubts_about_a_running_sync_are_no_reason() -> None:
    """What it has applied already differs from what Argo CD compared before it."""
    state: Object = {"phase": "Running", "operation": {"sync": {}}, "startedAt": "2026-03-02T03:00:00Z"}
    case = known(app=synced(row("ConfigMap", "settings"), operationState=state))
    doubtful = verdict(ReasonKind.MODEL_DIFFERS, ReasonKind.SYNC_RUNNING, sync=SyncSafety.UNKNOWN)
    assert kinds_of(bounded(doubtful, case, [reported()])) == [ReasonKind.SYNC_RUNNING]
    for kept in (
        verdict(ReasonKind.SYNC_RUNNING, UPDATES),
        verdict(ReasonKind.DELETES, ReasonKind.SYNC_RUNNING, sync=SyncSafety.UNSAFE),
        verdict(ReasonKind.REFUSED, sync=SyncSafety.UNKNOWN),
    ):
        assert bounded(kept, case, [reported()]) is kept


def test_a_window_is_named_unless_it_is_the_headline_or_the_project_is_known() -> None:
    """With the project in the facts, the simulation has evaluated its windows at this time."""
    window = reported(cause="sync-window", severity=Severity.WARNING)
    headline = bounded(verdict(UPDATES), known(), [window, OTHER])
    assert reason_texts(headline) == ["Argo CD would refuse it: a sync window blocks it"]
    second = bounded(verdict(UPDATES), known(), [OTHER, window])
    assert reason_texts(second) == ["Argo CD would refuse it: the reason"]
    simulated = verdict(UPDATES)
    assert bounded(simulated, known(PROJECT), [window]) is simulated


@pytest.mark.parametrize("manual", [True, False])
def test_a_closed_window_decides_before_the_manifests_are_needed(manual: bool) -> None:
    always: Json = {"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": ["*"]}
    windows: list[Json] = [{**fields(always), "manualSync": manual}]
    project: Object = {**PROJECT, "spec": {**fields(PROJECT["spec"]), "syncWindows": windows}}
    unknown = verdict(ReasonKind.FACTS_MISSING, sync=SyncSafety.UNKNOWN, outcome=SyncOutcome.UNKNOWN)
    safety = bounded(unknown, known(project), [OTHER])
    assert (kinds_of(safety) == [ReasonKind.REFUSED]) is not manual


def test_without_a_controller_it_stays_pending() -> None:
    safety = bounded(verdict(UPDATES), known(), [OTHER, reported(Side.FRESH, cause="controller-stale")])
    assert (safety.sync, safety.outcome) == (SyncSafety.UNKNOWN, SyncOutcome.FAILS)
    assert kinds_of(safety) == [ReasonKind.SYNC_HANGS]
    assert reason_texts(safety) == ["it would stay pending until a controller reconciles the app again"]


# --- a failed comparison, a failed sync ----------------------------------------------------------


@pytest.mark.parametrize("outcome", list(SyncOutcome))
def test_nobody_knows_what_a_sync_changes_while_the_comparison_fails(outcome: SyncOutcome) -> None:
    broken = reported(Side.COMPARE, kind=SymptomKind.CONDITION)
    safety = bounded(verdict(UPDATES, outcome=outcome), known(), [broken])
    fails = outcome is SyncOutcome.FAILS
    assert safety.outcome is (SyncOutcome.FAILS if fails else SyncOutcome.UNKNOWN)
    assert (safety.sync, kinds_of(safety)) == (SyncSafety.UNKNOWN, [ReasonKind.NOT_COMPARED])
    unknown = verdict(ReasonKind.MODEL_DIFFERS, sync=SyncSafety.UNKNOWN)
    assert bounded(unknown, known(), [broken]) is unknown


def test_a_sync_that_failed_is_not_expected_to_succeed() -> None:
    """The simulation may not contain what made it fail; the other effects are still true."""
    simulated = verdict(ReasonKind.CHANGES_NOTHING, UPDATES)
    safety = bounded(simulated, known(), [reported()])
    assert (safety.sync, safety.outcome) == (SyncSafety.SAFE, SyncOutcome.UNKNOWN)
    assert kinds_of(safety) == [ReasonKind.FAILED_BEFORE, UPDATES]
    assert safety.reasons[0].refs == (reported().about,)
    assert safety.reasons[0].text.endswith("nothing shows that the cause is fixed")
    second = bounded(simulated, known(), [OTHER, reported()])
    assert second.reasons[0].text.endswith("nothing shows that the cause is fixed: the reason")
    fails = verdict(ReasonKind.SYNC_FAILS, outcome=SyncOutcome.FAILS)
    assert bounded(fails, known(), [reported()]) is fails


def test_it_is_unknown_whether_it_is_safe_if_the_manifests_or_the_verdict_are() -> None:
    without = case_of(bundle(), synced(row("ConfigMap", "settings")))
    assert bounded(verdict(UPDATES), without, [reported()]).sync is SyncSafety.UNKNOWN
    unknown = verdict(ReasonKind.FACTS_MISSING, sync=SyncSafety.UNKNOWN)
    assert bounded(unknown, known(), [reported()]).sync is SyncSafety.UNKNOWN


@pytest.mark.parametrize(("phase", "counts"), [("Succeeded", False), ("Failed", True)])
def test_a_condition_explains_a_failed_sync_only_if_the_last_one_failed(phase: str, counts: bool) -> None:
    state: Object = {"phase": phase, "operation": {"sync": {}}, "retryCount": 0}
    case = known(app=synced(row("ConfigMap", "settings"), operationState=state))
    for side, expected in ((Side.APPLY, counts), (Side.HEALTH, False)):
        safety = bounded(verdict(UPDATES), case, [reported(side, kind=SymptomKind.CONDITION)])
        assert (kinds_of(safety)[0] is ReasonKind.FAILED_BEFORE) is expected


@pytest.mark.parametrize(
    ("retries", "expected"), [(0, "failed,"), (1, "failed 2 times,"), (5, "failed 6 times,")]
)
def test_how_often_it_failed(retries: int, expected: str) -> None:
    state: Object = {"phase": "Failed", "operation": {"sync": {}}, "retryCount": retries}
    case = known(app=synced(row("ConfigMap", "settings"), operationState=state))
    assert failed_before_text(case).startswith(f"the last sync {expected}")


@pytest.mark.parametrize(
    ("retries", "expected"), [(0, "the last sync failed; that is often temporary"), (5, "failed 6 times")]
)
def test_a_passing_failure_may_be_tried_again(retries: int, expected: str) -> None:
    """Its fix is to sync again: the verdict does not advise against it, and promises nothing."""
    again = Fix.run("argocd app sync shop", title="Sync again")
    passing = replace(reported(), rule="api_server_failing", fixes=(again,))
    state: Object = {
        "phase": "Failed",
        "operation": {"sync": {}},
        "retryCount": retries,
        "syncResult": {"revision": "b" * 40},
    }
    app = synced(row("ConfigMap", "settings"), operationState=state)
    safety = bounded(verdict(UPDATES), known(app=app), [passing])
    assert (safety.sync, safety.outcome) == (SyncSafety.SAFE, SyncOutcome.UNKNOWN)
    assert expected in safety.reasons[0].text
    assert "does no harm" in safety.reasons[0].text
    missing = verdict(ReasonKind.FACTS_MISSING, sync=SyncSafety.UNKNOWN)
    other_commit = bounded(missing, known(app=app), [passing])
    assert other_commit.sync is SyncSafety.UNKNOWN
    edit = Fix.remove(passing.about, "/metadata/resourceVersion", title="Remove it")
    pinned = bounded(verdict(UPDATES), known(app=app), [replace(passing, fixes=(edit,))])
    assert pinned.reasons[0].text.endswith("nothing shows that the cause is fixed")


def test_a_hook_that_failed_for_an_unknown_reason_may_fail_again() -> None:
    """Only another run shows the reason, so the verdict does not say that it fails again."""
    run = Fix.run("argocd app sync shop --async", "kubectl logs -f job/migrate", title="Run it again")
    failed = replace(reported(kind=SymptomKind.RESULT), rule="hook_failed", fixes=(run,))
    fails = verdict(ReasonKind.SYNC_FAILS, ReasonKind.RUNS_HOOKS, outcome=SyncOutcome.FAILS)
    safety = bounded(fails, known(), [failed])
    assert (safety.sync, safety.outcome) == (SyncSafety.SAFE, SyncOutcome.UNKNOWN)
    assert kinds_of(safety) == [ReasonKind.MAY_PASS, ReasonKind.RUNS_HOOKS]
    assert reason_texts(safety)[0].startswith("it may fail again: the facts do not show why")
    assert kinds_of(bounded(verdict(UPDATES), known(), [failed])) == [ReasonKind.MAY_PASS, UPDATES]
    without = case_of(bundle(), synced(row("ConfigMap", "settings")))
    assert bounded(verdict(UPDATES), without, [failed]).sync is SyncSafety.UNKNOWN
    blocked = verdict(ReasonKind.SYNC_HANGS, outcome=SyncOutcome.FAILS)
    assert bounded(blocked, known(), [failed]) is blocked
    kept = Fix.run("kubectl delete job migrate", "argocd app sync shop", title="Delete it, then sync")
    assert bounded(fails, known(), [replace(failed, fixes=(kept,))]) is fails


def test_an_empty_source_decides_without_manifests() -> None:
    """The finding says what there is to apply: nothing."""
    empty = reported(cause="autosync-empty-refused", kind=SymptomKind.CONDITION)
    missing = verdict(ReasonKind.FACTS_MISSING, sync=SyncSafety.UNKNOWN)
    safety = bounded(missing, known(), [empty])
    assert (safety.sync, kinds_of(safety)) == (SyncSafety.SAFE, [ReasonKind.DOES_NOT_HELP])
    assert "without --prune it deletes nothing; with --prune" in safety.reasons[0].text
    simulated = verdict(ReasonKind.LEAVES_UNPRUNED)
    assert ReasonKind.LEAVES_UNPRUNED in kinds_of(bounded(simulated, known(), [empty]))


def test_a_deletion_that_failed_refuses_syncs() -> None:
    """Argo CD sets the condition only on an Application that is being deleted."""
    condition: Object = {"type": "DeletionError", "message": "no such host", "lastTransitionTime": NOW}
    app = synced(row("ConfigMap", "settings"), conditions=[condition])
    safety = safety_of(known(app=app))
    assert kinds_of(safety) == [ReasonKind.REFUSED]
    assert reason_texts(safety)[0].endswith("the Application is being deleted")


def test_a_sync_that_changes_nothing_does_not_help_against_a_problem() -> None:
    simulated = verdict(ReasonKind.CHANGES_NOTHING, ReasonKind.RUNS_HOOKS)
    safety = bounded(simulated, known(), [OTHER])
    assert kinds_of(safety) == [ReasonKind.DOES_NOT_HELP, ReasonKind.RUNS_HOOKS]
    assert safety.reasons[0].text == "it does not help: it changes-nothing"
    second = verdict(UPDATES, ReasonKind.CHANGES_NOTHING)
    assert bounded(second, known(), [OTHER]) is second


# --- verdicts from the facts ---------------------------------------------------------------------


def with_head(case: Case, commit: str, url: str = "https://git.example.com/shop.git") -> Case:
    heads = (Head(repo=url, revision="main", commit=commit),)
    index = SnapshotIndex(replace(case.index.snapshot, heads=heads))
    manifest, app = index.decoded[0]
    return Case(index, manifest, app)


def test_a_commit_that_was_not_rendered_yet_may_change_anything() -> None:
    safety = safety_of(with_head(known(), "c" * 40))
    assert (safety.sync, safety.outcome) == (SyncSafety.UNKNOWN, SyncOutcome.UNKNOWN)
    assert reason_texts(safety) == ["it would apply commit ccccccc, which Argo CD has not rendered yet"]
    compared = known().app.status.sync.revision
    for same in (with_head(known(), compared), with_head(known(), "c" * 40, "https://other.example.com")):
        assert kinds_of(safety_of(same)) == [ReasonKind.CHANGES_NOTHING]


def test_an_app_that_was_never_compared() -> None:
    safety = safety_of(case_of(bundle(), application(sync="")))
    assert reason_texts(safety) == ["Argo CD has not compared the app yet"]
    assert kinds_of(safety) == [ReasonKind.NOT_COMPARED]
    assert safety_of(case_of(bundle(), application(sync="Unknown"))).outcome is SyncOutcome.FAILS


def test_a_synced_app_succeeds_and_its_hooks_may_not() -> None:
    safety = safety_of(known())
    assert (safety.sync, safety.outcome) == (SyncSafety.SAFE, SyncOutcome.SUCCEEDS)
    second: Object = {**HOOK, "metadata": {**fields(HOOK["metadata"]), "name": "seed"}}
    safety = safety_of(known(HOOK, second))
    assert (safety.sync, safety.outcome) == (SyncSafety.SAFE, SyncOutcome.UNKNOWN)
    assert reason_texts(safety)[1] == "it runs its hooks again: Job shop/migrate and 1 more"
    assert [ref.name for ref in safety.reasons[1].refs] == ["migrate", "seed"]


def test_hooks_are_known_from_the_last_sync_without_manifests() -> None:
    hook: Object = {"kind": "Job", "group": "batch", "version": "v1", "namespace": "shop", "name": "migrate"}
    results: list[Json] = [
        {**hook, "hookType": "PreSync", "hookPhase": "Succeeded"},
        {**hook, "hookType": "PreSync", "hookPhase": "Succeeded"},
        {**hook, "kind": "ConfigMap", "group": "", "name": "settings", "status": "Synced"},
    ]
    app = synced(row("ConfigMap", "settings"))
    fields(fields(app["status"])["operationState"])["syncResult"] = {"revision": "a", "resources": results}
    safety = safety_of(case_of(bundle(), app))
    assert reason_texts(safety)[1] == "it runs its hooks again: Job shop/migrate"


@pytest.mark.parametrize(
    ("health", "kind"),
    [
        ("Healthy", ReasonKind.CHANGES_NOTHING),
        ("", ReasonKind.CHANGES_NOTHING),
        ("Degraded", ReasonKind.DOES_NOT_HELP),
    ],
)
def test_a_sync_of_a_synced_app_does_not_make_it_healthy(health: str, kind: ReasonKind) -> None:
    app = synced(row("ConfigMap", "settings"))
    fields(fields(app["status"])["health"])["status"] = health
    safety = safety_of(case_of(bundle(), app))
    assert kinds_of(safety) == [kind]
    assert reason_texts(safety)[0].endswith("nothing differs, so it changes nothing")


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["Replace=true"], ReasonKind.FACTS_MISSING),
        (["Force=true"], ReasonKind.FACTS_MISSING),
        (["Prune=false"], ReasonKind.CHANGES_NOTHING),
    ],
)
def test_an_option_that_replaces_objects_writes_more_than_the_diff(
    options: list[Json], kind: ReasonKind
) -> None:
    app = synced(row("ConfigMap", "settings"), spec={"syncPolicy": {"syncOptions": options}})
    assert kinds_of(safety_of(case_of(bundle(), app))) == [kind]


def test_a_simulation_that_fails_leaves_the_verdict_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A diagnosis without a verdict is better than none."""

    def fails(*_: object) -> Safety:
        raise KeyError("broken")

    monkeypatch.setattr("whysync.proofs.simulated_safety.simulated_safety", fails)
    app = synced(row("ConfigMap", "settings", "OutOfSync"), sync="OutOfSync")
    safety = safety_of(known(app=app))
    assert (safety.sync, kinds_of(safety)) == (SyncSafety.UNKNOWN, [ReasonKind.SIMULATION_FAILED])
    assert reason_texts(safety) == ["the simulation failed (KeyError: 'broken')"]
