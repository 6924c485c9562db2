"""Exit codes are public API: 2 unreadable, 1 found, 3 could not look, 0 nothing wrong, in this order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import ROOT, application, bundle, row
from whysync.json_tree import Object

AUTOSCALER = str(ROOT / "examples/autoscaler-loop")

FINE = application()
BROKEN_POD = application(health="Degraded", status={"resources": []})
SYNCING = application(
    sync="OutOfSync",
    health="Progressing",
    status={
        "operationState": {"phase": "Running", "startedAt": "2026-03-02T03:09:30Z", "message": "waiting"},
        "resources": [row("ConfigMap", "settings", "OutOfSync")],
    },
)
GAP: Object = {
    "apiVersion": "whysync.dev/v1",
    "kind": "Bundle",
    "gaps": [{"what": "pod logs", "why": "forbidden", "howToGet": "ask for pods/log"}],
}
NEVER_COMPARED: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "new", "namespace": "argocd"},
}


@pytest.mark.parametrize("verb", ["diagnose", "list"])
def test_nothing_wrong_is_0(whysync: Whysync, tmp_path: Path, verb: str) -> None:
    assert whysync(verb, "--bundle", bundle(tmp_path, FINE)).code == 0


@pytest.mark.parametrize("verb", ["diagnose", "list"])
def test_a_finding_is_1(whysync: Whysync, verb: str) -> None:
    assert whysync(verb, "--bundle", AUTOSCALER).code == 1


@pytest.mark.parametrize("verb", ["diagnose", "list"])
def test_a_symptom_that_nothing_explains_is_1_whatever_fail_on_says(
    whysync: Whysync, tmp_path: Path, verb: str
) -> None:
    result = whysync(verb, "--bundle", bundle(tmp_path, BROKEN_POD), "--fail-on", "critical")
    assert result.code == 1


def test_fail_on_lets_smaller_findings_pass(whysync: Whysync) -> None:
    assert whysync("diagnose", "--bundle", AUTOSCALER, "--fail-on", "critical").code == 0
    assert whysync("diagnose", "--bundle", AUTOSCALER, "--fail-on", "info").code == 1


def test_evidence_that_is_missing_is_3(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("diagnose", "--bundle", bundle(tmp_path, FINE, GAP))
    assert result.code == 3
    assert "pod logs: forbidden" in result.out


def test_an_app_that_was_never_compared_is_3(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("diagnose", "--bundle", bundle(tmp_path, NEVER_COMPARED))
    assert result.code == 3
    assert "never compared" in result.out


def test_findings_count_before_gaps(whysync: Whysync, tmp_path: Path) -> None:
    assert whysync("diagnose", "--bundle", bundle(tmp_path, BROKEN_POD, GAP)).code == 1


def test_exit_zero_is_0_for_findings_and_gaps_but_not_for_errors(whysync: Whysync, tmp_path: Path) -> None:
    assert whysync("diagnose", "--bundle", AUTOSCALER, "--exit-zero").code == 0
    assert whysync("list", "--bundle", bundle(tmp_path, FINE, GAP), "--exit-zero").code == 0
    assert whysync("diagnose", "--bundle", str(tmp_path / "nowhere"), "--exit-zero").code == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["diagnose"], "no source of facts is configured"),
        (["list", "--bundle", "/nowhere/at/all"], "there is no /nowhere/at/all"),
        (["diagnose", "--bundle", AUTOSCALER, "--fail-on", "loud"], "invalid choice: 'loud'"),
        (["diagnose", "--bundle", AUTOSCALER, "--nonsense"], "unrecognized arguments: --nonsense"),
        (["list", "--bundle", AUTOSCALER, "-o", "sculpture"], "invalid choice: 'sculpture'"),
        (["list", "--bundle", AUTOSCALER, "-l", "a=b,,c"], "a part is empty"),
        (["list", "--bundle", AUTOSCALER, "-l", "a is b"], "invalid label selector"),
        (["get", "--bundle", AUTOSCALER], "required: APP"),
        (["explain", "no-such-cause"], "unknown rule or cause 'no-such-cause'"),
        (["completion", "tcsh"], "invalid choice: 'tcsh'"),
    ],
)
def test_bad_usage_exits_2_and_suggests_a_next_step(
    whysync: Whysync, arguments: list[str], expected: str
) -> None:
    result = whysync(*arguments)
    assert result.code == 2
    assert expected in result.err
    assert "  next   " in result.err
    assert result.out == ""
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("flag", "suggestion"), [("--bundl", "--bundle"), ("--fail_on=info", "--fail-on"), ("--nonsense", "")]
)
def test_a_misspelt_flag_gets_a_suggestion(whysync: Whysync, flag: str, suggestion: str) -> None:
    """No suggestion is better than a bad one: --nonsense resembles --insecure."""
    result = whysync("diagnose", flag, AUTOSCALER)
    assert result.code == 2
    assert "next   see whysync diagnose --help" in result.err
    assert re.findall(r"did you mean (\S+)\?", result.err) == ([suggestion] if suggestion else [])


def test_nothing_at_all_shows_the_help_and_is_2(whysync: Whysync) -> None:
    result = whysync()
    assert result.code == 2
    assert "exit codes:" in result.out
    assert whysync("help").code == 0
    assert whysync("--help").code == 0
    assert "usage: whysync list" in whysync("help", "list").out


def test_a_sync_that_goes_on_is_not_called_failed(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("diagnose", "--bundle", bundle(tmp_path, SYNCING))
    assert "sync failed" not in result.out
    assert "sync running for" in result.out


def test_a_fault_of_whysync_itself_is_2_and_no_finding(
    whysync: Whysync, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("whysync.app.diagnose", broken)
    result = whysync("diagnose", "--bundle", AUTOSCALER)
    assert result.code == 2
    assert "internal error: ZeroDivisionError: oops" in result.err
    assert "Traceback" not in result.err
