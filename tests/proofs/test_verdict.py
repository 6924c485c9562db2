"""Proven only with good reason: fixes that do nothing, do not help, hang on a gap, or need a person."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.played import played
from tests.proofs.worlds import bundle, deployment, in_git, running, synced
from tests.situations import REVISION, case_of, row
from whysync import app
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Add, Fix, FixKind, Proof, ProofStatus, Set
from whysync.diagnosis.report import AppReport
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.fixes.case_after_fix import applied
from whysync.json_tree import Json, Object, fields
from whysync.lab.library import built_in, names
from whysync.lab.player import play
from whysync.proofs.apply_fix import changes_application
from whysync.proofs.fix_verifier import FixVerifier
from whysync.proofs.proof_results import Rejected
from whysync.proofs.prove import prove

WITH_TROUBLE = tuple(
    name for name in names() if name not in ("crd-and-cr-in-one-wave", "hook-works-on-staging")
)


@cache
def reports(name: str) -> tuple[AppReport, ...]:
    """Reports of the rules, before a fix is verified."""
    cases = app.cases(SnapshotIndex(played(name).snapshot()))
    app_reports = (diagnose(case, diagnosis_rules()) for case in cases)
    return tuple(report for report in app_reports if report.findings)


def first(name: str) -> tuple[Case, Finding]:
    report = reports(name)[0]
    return report.case, report.findings[0]


@cache
def judge(name: str) -> FixVerifier:
    return FixVerifier(first(name)[0])


def tried(name: str, fix: Fix) -> Proof | Rejected:
    return judge(name).verify(first(name)[1], fix)


def with_fixes(name: str, *fixes: Fix) -> Finding:
    report = reports(name)[0]
    finding = replace(report.findings[0], fixes=fixes)
    return prove(replace(report, findings=(finding,))).findings[0]


# --- what changes nothing ------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_TROUBLE)
def test_notes_that_change_nothing_are_never_proven(name: str) -> None:
    """Neither one that is committed nor one on the Application."""
    note = Set(pointer="/metadata/annotations/example.com~1note", value="nothing")
    for report in reports(name):
        case = report.case
        fixes = [
            Fix.change(desired_object.ref, note, title="Write a note") for desired_object in case.desired[:1]
        ]
        fixes.append(Fix.application(case.application.ref, note, title="Write a note on the Application"))
        finding = replace(report.findings[0], fixes=tuple(fixes))
        after = prove(replace(report, findings=(finding,))).findings[0]
        assert len(after.fixes) + len(after.rejected_fixes) == len(fixes)
        for fix in after.fixes:
            assert fix.proof.status is not ProofStatus.PROVEN
            assert "took the time" not in fix.proof.why


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(("hpa-loop", "namespace-missing", "octal-mode", "pending-prune")), st.data())
def test_readonly_commands_are_never_proven(name: str, data: st.DataObject) -> None:
    app_name = reports(name)[0].name
    readonly_commands = (
        "kubectl get pods -A",
        "kubectl -n shop describe deployment web   # why",
        f"argocd app diff {app_name}",
        f"argocd app manifests {app_name} --source git | grep -c name",
        "argocd proj list",
        "kubectl api-resources --verbs=list -o name | xargs -n1 kubectl get",
        f"argocd app sync {app_name} --dry-run",
        f"argocd app wait {app_name} --health",
    )
    chosen = data.draw(st.lists(st.sampled_from(readonly_commands), min_size=1, max_size=4))
    result = tried(name, Fix.run(*chosen, title="Look"))
    assert isinstance(result, Proof)
    assert result.status is ProofStatus.NOT_RUN
    assert result.why


# --- what does not help --------------------------------------------------------------------------


def test_a_fix_that_does_not_help_is_not_offered() -> None:
    case, _ = first("hpa-loop")
    wrong = Fix.application(
        case.application.ref,
        Add(pointer="/spec/syncPolicy/syncOptions", value="PruneLast=true"),
        title="Prune last",
    )
    finding = with_fixes("hpa-loop", wrong)
    assert finding.fixes == ()
    assert [rejected_fix.title for rejected_fix in finding.rejected_fixes] == ["Prune last"]
    assert finding.rejected_fixes[0].why == (
        "in a simulation with this fix, Deployment production/my-api-service differs"
    )


def test_an_ignore_rule_for_another_field_is_refuted() -> None:
    case, _ = first("hpa-loop")
    rule: Object = {"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/paused"]}
    edit = Add(pointer="/spec/ignoreDifferences", value=rule)
    fix = Fix.application(case.application.ref, edit, title="Ignore something else")
    assert isinstance(tried("hpa-loop", fix), Rejected)


def test_a_step_that_argo_cd_refuses_refutes_the_fix() -> None:
    """A sync is already running and the fix does not terminate it."""
    result = tried("hook-waits-for-later-wave", Fix.run("argocd app sync storefront", title="Sync"))
    assert isinstance(result, Rejected)
    assert "another operation is already in progress" in result.why


def test_a_plain_sync_is_held_against_waiting_and_anything_else_against_a_sync() -> None:
    """Where a sync alone helps, a commit that brings one along is not what helped."""
    sync = tried("label-conflict", Fix.run("argocd app sync notifications", title="Sync"))
    assert isinstance(sync, Proof)
    assert sync.status is ProofStatus.PROVEN
    case, _ = first("label-conflict")
    note = Set(pointer="/metadata/annotations/example.com~1note", value="nothing")
    commit = tried("label-conflict", Fix.change(case.desired[0].ref, note, title="Write a note"))
    assert isinstance(commit, Proof)
    assert (commit.status, commit.why) == (ProofStatus.LIKELY, "in the simulation a plain sync helps as well")


# --- gaps ----------------------------------------------------------------------------------------


def test_unknown_values_make_it_likely() -> None:
    command = "kubectl -n search create secret generic search-credentials --from-literal=KEY=VALUE"
    result = tried("missing-secret", Fix.run(command, title="Create it"))
    assert isinstance(result, Proof)
    assert result.status is ProofStatus.LIKELY
    assert result.why == "not known: which values Secret search-credentials needs"


def test_a_policy_that_cannot_be_evaluated_makes_it_likely() -> None:
    case, finding = first("admission-denied")
    edit = Set(pointer="/metadata/labels/team", value="payments")
    target = case.desired_of(
        next(desired_object.key for desired_object in case.desired if desired_object.ref.kind == "Deployment")
    )
    assert target is not None
    result = FixVerifier(case).verify(finding, Fix.change(target.ref, edit, title="Add the label"))
    assert isinstance(result, Proof)
    assert result.status is ProofStatus.LIKELY
    assert "accepts the changed Deployment reports/reports" in result.why


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            "argocd app set my-api-service --project OTHER_PROJECT",
            "OTHER_PROJECT must be filled in by a user",
        ),
        ("# restore the database", "restore the database"),
        ("argocd repo add https://git.example.com/x.git --upsert", "cannot be simulated"),
        ("kubectl -n production edit deployment my-api-service", "requires a user"),
        ("argocd app sync another", "Application another is not part of the simulation"),
        ("argocd app delete my-api-service", "it deletes the Application"),
        ("kubectl -n production delete job nothing-there", "not found"),
        ("helm upgrade it .", "cannot be simulated"),
    ],
)
def test_a_command_that_cannot_be_simulated_has_a_reason(command: str, why: str) -> None:
    result = tried("hpa-loop", Fix.run(command, "argocd app sync my-api-service", title="Do"))
    assert isinstance(result, Proof)
    assert result.status is ProofStatus.NOT_RUN
    assert why in result.why


def test_without_manifests_nothing_is_tried() -> None:
    finding = prove(reports("broken-helm-values")[0]).findings[0]
    assert {fix.proof.why for fix in finding.fixes} == {"the facts have no manifests of this app"}


def test_switched_off_it_says_so() -> None:
    (report,) = app.diagnose([reports("hpa-loop")[0].case], prove=False).apps
    proofs = [fix.proof for finding in report.findings for fix in finding.fixes]
    assert {(proof.status, proof.why) for proof in proofs} == {(ProofStatus.NOT_RUN, "--no-proof is set")}


def test_what_follows_from_another_cause_is_not_tried() -> None:
    following = [finding for finding in prove(reports("hpa-loop")[0]).findings if finding.caused_by]
    assert following
    for finding in following:
        assert all(fix.proof.status is ProofStatus.NOT_RUN for fix in finding.fixes)


# --- several causes ------------------------------------------------------------------------------


def two_immutable_selectors() -> Case:
    """One sync that fails for two resources, each for a reason of its own."""
    objects: list[Object] = []
    results: list[Json] = []
    for name in ("one", "two"):
        live = running(deployment(name))
        desired = deployment(name)
        labels: Object = {"app": name, "tier": "new"}
        fields(desired["spec"])["selector"] = {"matchLabels": labels}
        fields(fields(fields(desired["spec"])["template"])["metadata"])["labels"] = labels
        message = (
            f'Deployment.apps "{name}" is invalid: spec.selector: Invalid value: '
            f'{{"matchLabels":{{"app":"{name}","tier":"new"}}}}: field is immutable'
        )
        objects += [live, in_git(desired)]
        results.append(
            {**row("Deployment", name), "status": "SyncFailed", "message": message, "syncPhase": "Sync"}
        )
    app_object = synced(
        row("Deployment", "one", "OutOfSync"), row("Deployment", "two", "OutOfSync"), sync="OutOfSync"
    )
    status = fields(app_object["status"])
    status["operationState"] = {
        **fields(status["operationState"]),
        "phase": "Failed",
        "message": "one or more objects failed to apply",
        "syncResult": {"revision": REVISION, "resources": results},
    }
    return case_of(bundle(), app_object, *objects)


def test_each_of_two_causes_is_judged_for_its_part() -> None:
    report = diagnose(two_immutable_selectors(), diagnosis_rules())
    findings = [finding for finding in prove(report).findings if finding.rule == "immutable_field_changed"]
    assert [str(finding.about) for finding in findings] == ["Deployment shop/one", "Deployment shop/two"]
    for finding in findings:
        assert finding.rejected_fixes == ()
        assert finding.fixes[0].title == "Restore the live value of the field in Git"
        assert finding.fixes[0].proof.status is ProofStatus.PROVEN
        assert finding.fixes[0].proof.why.startswith("this problem is gone; the app is OutOfSync")


# --- who makes the Application -------------------------------------------------------------------


def owned(**meta: Json) -> AppReport:
    """`hpa-loop`, whose Application is generated or owned by another object."""
    play_ = play(built_in("hpa-loop"))
    snapshot = play_.snapshot()
    application = snapshot.applications[0]
    body: Object = {**application.body, "metadata": {**fields(application.body["metadata"]), **meta}}
    world = SnapshotIndex(replace(snapshot, applications=(application.with_body(body),)))
    return prove(diagnose(app.cases(world)[0], diagnosis_rules()))


MADE_BY_A_SET: Object = {
    "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": "all"}]
}
BROUGHT_BY_AN_APP: Object = {
    "annotations": {"argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/x"}
}


@pytest.mark.parametrize(
    ("meta", "unknown"),
    [
        (MADE_BY_A_SET, "its effect on the other apps of ApplicationSet all"),
        (BROUGHT_BY_AN_APP, "whether it lasts: Application root"),
    ],
)
def test_a_change_of_an_application_that_something_else_makes_is_only_likely(
    meta: Object, unknown: str
) -> None:
    """A set's template is the place of the change, so it lasts there and concerns the other apps."""
    in_git_, in_app = owned(**meta).findings[0].fixes
    assert in_git_.proof.status is ProofStatus.PROVEN
    assert in_app.proof.status is ProofStatus.LIKELY
    assert in_app.proof.why.startswith(f"not known: {unknown}")


def test_of_an_app_that_is_being_deleted_nothing_is_tried() -> None:
    report = owned(
        deletionTimestamp="2026-03-02T09:00:00Z", finalizers=["resources-finalizer.argocd.argoproj.io"]
    )
    whys = {fix.proof.why for finding in report.findings if not finding.caused_by for fix in finding.fixes}
    assert any(why.startswith("the app is being deleted") for why in whys)


@pytest.mark.parametrize(
    ("name", "job"),
    [("hook-deadline", "booking/booking-smoke-test"), ("sync-timeout", "catalog/catalog-import")],
)
def test_a_longer_deadline_that_git_already_has_is_likely_not_proven(name: str, job: str) -> None:
    """The time that a terminated hook needs has not been observed."""
    case, finding = first(name)
    longer = next(fix for fix in finding.fixes if fix.kind is not FixKind.COMMAND)
    after = applied(longer, case)
    again = diagnose(after, diagnosis_rules()).findings[0]
    assert again.fixes[0].title.startswith("Sync again")
    result = FixVerifier(after).verify(again, again.fixes[0])
    assert isinstance(result, Proof)
    assert (result.status, result.why) == (ProofStatus.LIKELY, f"not known: how long Job {job} needs")


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("argocd app set shop --project team", True),
        ("kubectl -n argocd patch application shop --type merge -p '{}'", True),
        ("kubectl -n shop patch deployment web --type merge -p '{}'", False),
        ("argocd app sync shop", False),
        ("argocd app get shop", False),
    ],
)
def test_commands_that_change_the_application_itself(command: str, changes: bool) -> None:
    assert changes_application((command,)) is changes
