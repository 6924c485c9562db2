"""Where Argo CD shows nothing wrong, the claim itself is tried: a field, a health, a commit; or to wait."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from tests.proofs.test_verdict import first, tried, with_fixes
from tests.proofs.worlds import bundle, in_git, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Add, Fix, FixKind, Proof, ProofStatus, Set
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key
from whysync.proofs.fix_verifier import FixVerifier
from whysync.proofs.hidden_symptoms import IgnoredFieldOverwritten, UndetectedDrift, hidden_symptom_of
from whysync.proofs.observations import Observer, is_unready
from whysync.proofs.proof_results import Rejected
from whysync.proofs.refresh_proof import verify_refresh
from whysync.proofs.required_facts import explains_only_lag
from whysync.proofs.simulated_case import simulated

WAIT = "argocd app wait {} --operation"


def proof(name: str, fix: Fix) -> Proof:
    result = tried(name, fix)
    assert isinstance(result, Proof)
    return result


# --- a field that a sync overwrites --------------------------------------------------------------


def test_a_respected_ignore_rule_keeps_a_sync_from_writing_the_field() -> None:
    _, finding = first("ignored-and-still-written")
    verified = proof("ignored-and-still-written", finding.fixes[0])
    assert (verified.status, verified.why) == (ProofStatus.PROVEN, "")
    assert "  +0:00  argocd app sync feed" in "\n".join(verified.trace)


def test_a_removed_field_is_overwritten_by_the_first_sync() -> None:
    _, finding = first("ignored-and-still-written")
    verified = proof("ignored-and-still-written", finding.fixes[1])
    assert verified.status is ProofStatus.PROVEN
    assert verified.why == "the first sync after the fix still overwrites the field"


def test_an_unrelated_sync_option_is_rejected() -> None:
    case, finding = first("ignored-and-still-written")
    option = Add(pointer="/spec/syncPolicy/syncOptions", value="ApplyOutOfSyncOnly=false")
    fix = Fix.application(case.application.ref, option, title="Another option")
    result = FixVerifier(case).verify(finding, fix)
    assert isinstance(result, Rejected)
    assert result.why == "in a simulation with this fix, nothing changes"


def test_a_rule_that_is_respected_already_proves_nothing() -> None:
    """A problem that the simulation does not show cannot be shown to end."""
    case, finding = first("ignored-and-still-written")
    elsewhere = replace(finding, field="/metadata/name")
    verified = FixVerifier(case).verify(elsewhere, finding.fixes[0])
    assert isinstance(verified, Proof)
    assert (verified.status, verified.why) == (
        ProofStatus.NOT_RUN,
        "the simulation does not show the problem",
    )


def test_only_a_field_of_an_ignored_value_claims_to_be_overwritten() -> None:
    case, finding = first("ignored-and-still-written")
    fix = finding.fixes[0]
    assert isinstance(hidden_symptom_of(case, finding, fix), IgnoredFieldOverwritten)
    for other in (
        replace(finding, cause="another"),
        replace(finding, field=None),
        replace(finding, field="/spec/notThere"),  # nobody holds what is not set
    ):
        assert hidden_symptom_of(case, other, fix) is None


SETTINGS = Key("", "ConfigMap", "shop", "settings")


def watched() -> Observer:
    """A ConfigMap whose one value is `b`."""
    config = settings("settings")
    case = case_of(bundle(), synced(row("ConfigMap", "settings")), in_git(config), there(config))
    return Observer(simulated(case, touched=[SETTINGS]))


def put(watch: Observer, key: Key, value: str) -> int:
    """How many writes there were then."""
    store = watch.world.simulation.api_server.store
    store.put((("", "configmaps"), key.namespace, key.name), settings(key.name, data={"a": value}))
    return len(store.journal)


def test_a_field_is_overwritten_when_it_leaves_the_value_that_it_had() -> None:
    watch, claim = watched(), IgnoredFieldOverwritten(key=SETTINGS, pointer="/data/a")
    put(watch, SETTINGS, "b")
    put(watch, SETTINGS._replace(name="other"), "c")
    assert not claim.present_with_fix(watch), "neither the same value nor another object"
    since = put(watch, SETTINGS, "c")
    assert claim.present_with_fix(watch)
    assert claim.present_with_fix(watch, since - 1)
    assert not claim.present_with_fix(watch, since), "that was before"
    put(watch, SETTINGS, "d")
    assert not claim.present_with_fix(watch, since), "from one wrong value to another"
    put(watch, SETTINGS, "b")
    assert not claim.present_with_fix(watch, since), "written back"
    put(watch, SETTINGS, "c")
    assert claim.present_with_fix(watch, since), "and overwritten again"
    assert not IgnoredFieldOverwritten(
        key=SETTINGS._replace(name="gone"), pointer="/data/a"
    ).present_with_fix(watch)


@pytest.mark.parametrize(
    ("now", "by_hand", "holds"),
    [
        ("found", True, True),  # a command was to take it out, and it is still there
        ("git", True, False),
        ("else", True, False),
        ("found", False, True),  # Git was to say so, and the cluster does not follow
        ("git", False, False),
        ("else", False, True),
    ],
)
def test_a_value_beside_git_has_to_go_or_to_be_gits(now: str, by_hand: bool, holds: bool) -> None:
    watch = watched()
    claim = UndetectedDrift(key=SETTINGS, pointer="/data/a", live="found", desired="git", by_hand=by_hand)
    assert not claim.present_without_fix(watch)
    put(watch, SETTINGS, now)
    assert (claim.present_without_fix(watch), claim.present_with_fix(watch)) == (now == "found", holds)


# --- a health that nobody reads ------------------------------------------------------------------

KEY = "/data/resource.customizations.health.db.example.com_Database"


def of_settings(finding: Finding) -> Fix:
    return next(fix for fix in finding.fixes if fix.kind is FixKind.SETTINGS)


def check(script: str) -> Fix:
    _, finding = first("crd-without-health-check")
    fix = of_settings(finding)
    (edit,) = fix.edits
    return Fix(
        title="A check",
        kind=FixKind.SETTINGS,
        target=fix.target,
        edits=(Set(pointer=edit.pointer, value=script),),
    )


def test_a_health_check_shows_the_status_of_the_object() -> None:
    _, finding = first("crd-without-health-check")
    verified = proof("crd-without-health-check", of_settings(finding))
    assert verified.status is ProofStatus.PROVEN
    assert "Synced · Degraded" in verified.trace[-1]


@pytest.mark.parametrize("script", ["return nil", "this is no Lua"])
def test_a_check_that_judges_nothing_is_refuted(script: str) -> None:
    assert isinstance(tried("crd-without-health-check", check(script)), Rejected)


def test_an_absent_object_has_no_hidden_symptom() -> None:
    case, finding = first("crd-without-health-check")
    absent = replace(finding, about=replace(finding.about, name="gone"))
    fix = of_settings(finding)
    assert hidden_symptom_of(case, absent, fix) is None
    assert hidden_symptom_of(case, replace(finding, severity=Severity.WARNING), fix) is None


def test_another_setting_claims_nothing_about_health() -> None:
    case, finding = first("crd-without-health-check")
    fix = of_settings(finding)
    other = replace(fix, edits=(Set(pointer="/data/timeout.reconciliation", value="60s"),))
    assert hidden_symptom_of(case, finding, other) is None
    on_the_app = Fix.application(case.application.ref, *fix.edits, title="Not in the settings")
    assert hidden_symptom_of(case, finding, on_the_app) is None


def test_what_a_check_shows_takes_no_sync() -> None:
    """Nobody is told to sync: so it has to show without one."""
    for name in ("crd-without-health-check", "switched-off"):
        case, finding = first(name)
        claims = [hidden_symptom_of(case, finding, fix) for fix in finding.fixes]
        claim = next((claim for claim in claims if claim is not None), None)
        assert claim is not None
        assert not claim.needs_sync


# --- a commit that was not seen yet --------------------------------------------------------------


def test_a_refresh_detects_a_commit_sooner() -> None:
    _, finding = first("polling-lag")
    verified = proof("polling-lag", finding.fixes[0])
    assert (verified.status, verified.why) == (
        ProofStatus.PROVEN,
        "what that commit changes is not known yet",
    )
    assert verified.trace == (
        "without the fix",
        "   +1:00  the commit is detected without the fix",
        "with the fix",
        "   +0:00  argocd app get my-api-service --refresh",
        "   +0:02  the commit is detected",
    )


def test_what_is_late_has_a_reason_that_nobody_knows() -> None:
    case, finding = first("polling-lag")
    late = replace(finding, severity=Severity.WARNING)
    assert "should have detected the commit already" in verify_refresh(case, late, finding.fixes[0]).why


def test_what_does_not_make_argo_cd_look_does_not_help() -> None:
    case, _ = first("polling-lag")
    note = Set(pointer="/metadata/annotations/example.com~1note", value="x")
    assert proof("polling-lag", Fix.application(case.application.ref, note, title="note")).why == (
        "it does not trigger a refresh"
    )


@pytest.mark.parametrize(
    ("by_itself", "at_once", "status"),
    [
        (60, 2, ProofStatus.PROVEN),
        (None, 2, ProofStatus.PROVEN),
        (60, 60, ProofStatus.NOT_RUN),
        (60, 90, ProofStatus.NOT_RUN),
        (60, None, ProofStatus.NOT_RUN),
        (None, None, ProofStatus.NOT_RUN),
    ],
)
def test_a_refresh_is_proven_only_where_it_is_sooner(
    by_itself: int | None, at_once: int | None, status: ProofStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, finding = first("polling-lag")

    def elapsed(_case: object, fix: Fix | None) -> timedelta | None:
        seconds = by_itself if fix is None else at_once
        return timedelta(seconds=seconds) if seconds is not None else None

    monkeypatch.setattr("whysync.proofs.refresh_proof._time_until_seen", elapsed)
    verified = verify_refresh(case, finding, finding.fixes[0])
    assert verified.status is status
    if status is ProofStatus.PROVEN:
        assert verified.rounds == 1
        alone = (
            "the commit is not detected within an hour"
            if by_itself is None
            else "+1:00  the commit is detected without the fix"
        )
        assert verified.trace[1].endswith(alone)


def test_what_explains_more_than_a_moved_branch_is_no_lag() -> None:
    case, finding = first("polling-lag")
    assert explains_only_lag(case, finding)
    assert not explains_only_lag(case, replace(finding, explains=()))
    assert not explains_only_lag(
        case, replace(finding, explains=(*finding.explains, "unhealthy:/Pod/shop/one"))
    )


# --- to wait -------------------------------------------------------------------------------------


def test_a_window_ends_by_itself() -> None:
    _, finding = first("sync-window")
    verified = proof("sync-window", finding.fixes[0])
    assert (verified.status, verified.why) == (ProofStatus.PROVEN, "")
    assert "  +80:00  sync to" in "\n".join(verified.trace)


def test_a_wave_ends_if_its_resources_run() -> None:
    _, finding = first("wave-in-progress")
    verified = proof("wave-in-progress", finding.fixes[0])
    assert verified.status is ProofStatus.LIKELY
    assert "inventory/api:4.0.0 runs (not observed yet)" in verified.why


@pytest.mark.parametrize(
    ("name", "app"),
    [("crash-loop", "my-api-service"), ("wave-stalled", "streaming"), ("hpa-loop", "my-api-service")],
)
def test_to_wait_for_what_does_not_end_is_never_proven(name: str, app: str) -> None:
    (fix,) = with_fixes(name, Fix.run(WAIT.format(app), title="Wait")).fixes
    assert fix.proof.status is ProofStatus.NOT_RUN
    assert fix.proof.why == "in the simulation it does not resolve by itself"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            "argocd app sync inventory",
            "the finding is a notice, without a failure that a simulation could show",
        ),
        ("# raise the limit", "a step requires a user: raise the limit"),
        ("argocd app get inventory", "it changes nothing: it only reads or waits"),
    ],
)
def test_the_fix_of_a_notice_says_why_it_was_not_run(command: str, why: str) -> None:
    """An operator's failure is a notice too, because Argo CD does not report it: it is not "no problem"."""
    case, finding = first("wave-in-progress")
    (fix,) = with_fixes("wave-in-progress", Fix.run(command, title="Sync")).fixes
    assert fix.proof.why == why
    assert FixVerifier(case).verify(finding, fix) == fix.proof


# --- a value that Argo CD does not see, an app that it leaves alone ------------------------------


def test_a_value_written_by_hand_is_brought_into_git_or_taken_out() -> None:
    _, finding = first("suspended-by-hand")
    into_git, out_of_the_cluster = finding.fixes
    assert proof("suspended-by-hand", into_git).status is ProofStatus.PROVEN
    assert proof("suspended-by-hand", out_of_the_cluster).status is ProofStatus.PROVEN


def test_what_git_declares_is_seen_and_undone() -> None:
    """Another value in Git ends it too: then Argo CD sees the difference. None at all does not."""
    _, finding = first("suspended-by-hand")
    assert finding.field is not None
    declared = Fix.change(finding.about, Set(pointer=finding.field, value=False), title="Declare it")
    assert proof("suspended-by-hand", declared).status is ProofStatus.PROVEN
    note = Set(pointer="/metadata/annotations/example.com~1note", value="x")
    assert isinstance(tried("suspended-by-hand", Fix.change(finding.about, note, title="A note")), Rejected)


def test_a_sync_does_not_take_it_out() -> None:
    """Argo CD sees no difference: that is what the finding is about."""
    assert isinstance(
        tried("suspended-by-hand", Fix.run("argocd app sync housekeeping", title="Sync")), Rejected
    )


def test_an_app_whose_reconciliation_was_skipped_is_reconciled_again() -> None:
    _, finding = first("switched-off")
    verified = proof("switched-off", finding.fixes[0])
    assert verified.status is ProofStatus.PROVEN
    assert verified.why == "what the pending commit changes is not known yet"
    refreshed = tried("switched-off", Fix.run("argocd app get loyalty --refresh", title="Refresh"))
    assert isinstance(refreshed, Rejected)


def test_a_pod_that_is_not_ready_yet_may_never_be() -> None:
    """Then to wait is likely to help, and no more, though its image is known to run."""
    started: Object = {
        "type": "Ready",
        "status": "False",
        "lastTransitionTime": "2026-03-02T03:10:50Z",
    }
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "shop-1", "namespace": "shop"},
        "status": {"phase": "Running", "conditions": [started]},
    }
    assert is_unready(Manifest(pod, role=Role.LIVE))
    ready: Object = {**pod, "status": {"phase": "Running", "conditions": [{**started, "status": "True"}]}}
    assert not is_unready(Manifest(ready, role=Role.LIVE))
    done: Object = {**pod, "status": {"phase": "Succeeded"}}
    assert not is_unready(Manifest(done, role=Role.LIVE))


def test_the_behavior_of_pods_of_a_new_template_is_not_known() -> None:
    """Whatever the simulation shows: a changed program is never proven to run."""
    case, finding = first("crash-loop")
    target = next(
        desired_object.ref for desired_object in case.desired if desired_object.ref.kind == "Deployment"
    )
    edit = Set(pointer="/spec/template/spec/containers/0/args", value=["--debug"])
    verified = FixVerifier(case).verify(finding, Fix.change(target, edit, title="Another one"))
    assert isinstance(verified, Proof)
    assert verified.status is not ProofStatus.PROVEN
    assert "how its pods behave with the new" in verified.why
