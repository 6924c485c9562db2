"""What holds for the fixes of every rule, on every case that there is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixes.test_fragments import check_fragment
from tests.rules.bench import BUNDLES, case_name, load_case
from tests.situations import EXAMPLES, application, case_of
from whysync import app
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, FixKind
from whysync.diagnosis.report import AppReport
from whysync.errors import Refused
from whysync.fixes.edit import edited
from whysync.fixes.formats import as_commands, as_patch, as_yaml
from whysync.fixes.patches import in_safe_order, object_of, patch_text
from whysync.fixes.while_syncing import not_into_a_running_sync
from whysync.json_tree import Object

HARSH = re.compile(
    r"argocd app sync .*--(force|replace|prune)\b|--cascade|argocd app delete|kubectl .*--force\b"
)


def _report(folder: Path) -> AppReport:
    """Without proofs: a fix that a proof rejects must be honest too."""
    return app.diagnose([load_case(folder)], prove=False).apps[0]


def _shown_or_refused(form: Callable[[Fix, Case], object], fix: Fix, case: Case) -> bool:
    """A refusal says what to do instead."""
    try:
        return bool(form(fix, case))
    except Refused as refused:
        return bool(refused.next)


@pytest.mark.parametrize("folder", BUNDLES, ids=case_name)
def test_fixes_are_honest(folder: Path) -> None:
    report = _report(folder)
    case = report.case
    for finding in report.findings:
        harmful = [bool(fix.destroys) for fix in finding.fixes]
        assert harmful == sorted(harmful), "what destroys comes last"
        for fix in finding.fixes:
            text = patch_text(fix, case)
            if HARSH.search(text) and "--dry-run" not in text.splitlines()[0]:
                assert fix.destroys, f"{fix.title}: it must say what it destroys"
            target = object_of(fix, case)
            if fix.kind is FixKind.MANIFEST and fix.edits and target is not None:
                check_fragment(text, target.body, edited(target.body, fix.edits))
                assert str(fix.target) in text.splitlines()[0]
                assert not any(mark in text for mark in ("tracking-id", "--- a/")), "no such line is in Git"
            assert all(_shown_or_refused(form, fix, case) for form in (as_patch, as_yaml, as_commands))


def test_what_destroys_is_last_whatever_the_rule_says() -> None:
    harm = Fix.run("rm", title="b", destroys=("all",))
    calm = Fix.run("ls", title="a")
    assert in_safe_order([harm, calm]) == (calm, harm)


def running(phase: str = "Running", *, minutes: int = 0, retries: int = 0) -> Object:
    state: Object = {"phase": phase, "startedAt": "2026-03-02T03:00:00Z", "retryCount": retries}
    reconciled = f"2026-03-02T03:{minutes:02d}:00Z"
    return application(status={"operationState": state, "reconciledAt": reconciled})


def test_no_sync_into_a_running_one() -> None:
    case = case_of(running())
    fix = not_into_a_running_sync(Fix.run("look", "argocd app sync shop --prune", title="t"), case)
    assert [command.partition("   #")[0] for command in fix.commands] == [
        "look",
        "argocd app wait shop --operation --timeout 600",
        "argocd app sync shop --prune",
    ]
    assert not_into_a_running_sync(fix, case) == fix


@pytest.mark.parametrize("sync", [running(minutes=11), running(minutes=1, retries=2)])
def test_a_sync_that_hangs_or_retries_is_terminated(sync: Object) -> None:
    fix = not_into_a_running_sync(Fix.run("argocd app sync shop", title="t"), case_of(sync))
    assert [command.partition("   #")[0] for command in fix.commands] == [
        "argocd app terminate-op shop",
        "argocd app sync shop",
    ]


def test_a_commit_needs_the_running_sync_to_end() -> None:
    look = Fix.run("kubectl logs web", title="t", then_commit=True)
    fix = not_into_a_running_sync(look, case_of(running()))
    assert [command.partition("   #")[0] for command in fix.commands] == [
        "kubectl logs web",
        "# once the correction is committed and pushed:",
        "argocd app terminate-op shop",
        "argocd app sync shop",
    ]
    assert not_into_a_running_sync(look, case_of(running("Succeeded"))) == look


@pytest.mark.parametrize(
    "commands",
    [
        ("argocd app terminate-op shop", "argocd app sync shop"),
        ("argocd app sync shopping",),
        ("kubectl get pods",),
    ],
)
def test_commands_that_may_stay(commands: tuple[str, ...]) -> None:
    fix = Fix.run(*commands, title="t")
    assert not_into_a_running_sync(fix, case_of(running())) == fix


def test_a_finished_operation_holds_nobody_up() -> None:
    fix = Fix.run("argocd app sync shop", title="t")
    assert not_into_a_running_sync(fix, case_of(running("Failed"))) == fix


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_has_a_fix(example: Path) -> None:
    report = app.diagnose(app.cases(app.read(app.FactSource(bundles=(str(example),)))))
    assert all(app.first is not None and app.first.fixes for app in report.apps)
