"""Every scenario comes out as it says: the operation's state, sync and health, and the first finding."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.running import Whysync
from tests.golden import Golden
from tests.played import diagnosed, played
from whysync.diagnosis.report import Report
from whysync.diagnosis.rule import diagnosis_rules
from whysync.lab.expectations import differences
from whysync.lab.library import built_in, names
from whysync.lab.parse import scenario_from
from whysync.lab.player import ScenarioRun
from whysync.lab.scenario import Scenario

GOLDENS = Path(__file__).parent / "goldens"
# What issue and articles tell of; more may be added, none may go.
TOLD = (
    "admission-denied", "api-defaults", "argocd-rbac", "auto-sync-given-up", "broken-helm-values",
    "cached-error", "crash-loop", "crd-and-cr-in-one-wave", "crd-from-operator", "crd-without-health-check",
    "credentials-expired", "dead-webhook", "hook-leftover", "hook-waits-for-later-wave",
    "hook-without-deadline", "hook-works-on-staging", "hpa-loop", "ignored-and-still-written",
    "image-missing", "image-rewritten", "immutable-selector", "label-conflict", "last-applied-only",
    "migration-dead-database", "misspelt-field", "missing-secret", "missing-service-account",
    "namespace-missing", "octal-mode", "pending-prune", "polling-lag", "project-denied", "prune-gone-wrong",
    "quota", "rename", "repo-unreachable", "scaled-by-hand", "self-heal-war", "shared-resource",
    "shared-resource-refused", "sidecar-injected", "sync-window", "target-namespace-rbac", "ttl-job",
    "wave-in-progress", "wave-stalled",
)  # fmt: skip
MARKS = ("✗ ", "✓ ", "… ", "? ")
FIXED = ("hook-works-on-staging", "crd-and-cr-in-one-wave")


def test_every_failure_of_the_articles_has_its_scenario() -> None:
    assert set(TOLD) <= set(names())


@pytest.mark.parametrize("name", names())
def test_it_comes_out_as_expected(name: str) -> None:
    assert differences(built_in(name), diagnosed(name)) == []


@pytest.fixture
def lab_run_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`whysync lab run` shows the run that all tests of the scenario share, instead of one more."""

    def shared(scenario: Scenario, *, until: timedelta | None) -> ScenarioRun:
        assert (scenario, until) == (built_in(name), None)
        return played(name)

    def diagnosing(*_: object, prove: bool, **__: object) -> Report:
        assert prove
        return diagnosed(name)

    monkeypatch.setattr("whysync.lab.player.play", shared)
    monkeypatch.setattr("whysync.cli.lab._diagnosed", diagnosing)


@pytest.mark.usefixtures("lab_run_once")
@pytest.mark.parametrize("name", names())
def test_what_a_pipe_sees(name: str, whysync: Whysync, golden: Golden) -> None:
    result = whysync("lab", "run", name)
    assert result.err == ""
    assert "\x1b" not in result.out
    assert "unexplained" not in result.out, "every symptom of a known failure has its finding"
    assert result.code == (0 if _is_quiet(name) else 1)
    golden(GOLDENS / f"{name}.txt", up_to_the_answers(result.out))


def up_to_the_answers(out: str) -> str:
    """The story, the picture, each app's first lines: how findings are laid out has goldens of its own."""
    lines = out.split("\n")
    first = next(at for at, line in enumerate(lines) if line[:2] in MARKS)
    selected = lines[:first]
    inside = False
    for line in lines[first:]:
        inside = line[:2] in MARKS or (inside and bool(line))
        if inside:
            selected.append(line)
    return "\n".join(selected) + "\n"


def _is_quiet(name: str) -> bool:
    """Nothing failed, or only news are told: a sync under way, a push a moment ago, a check to add."""
    return name in (
        *FIXED,
        "wave-in-progress",
        "polling-lag",
        "crd-without-health-check",
        "ignored-and-still-written",
        "suspended-by-hand",
        "orphaned-object",
        "parent-branch",
    )


@pytest.mark.usefixtures("lab_run_once")
@pytest.mark.parametrize("name", names())
def test_the_end_as_a_bundle_gives_the_same_answer(name: str, whysync: Whysync, tmp_path: Path) -> None:
    folder = tmp_path / "end"
    result = whysync("lab", "run", name, "-o", "json", "--bundle", str(folder))
    again = whysync("diagnose", "--bundle", str(folder), "-o", "json")
    assert (again.code, again.err) == (result.code, "")
    assert again.out == result.out


@pytest.mark.parametrize("name", names())
def test_it_tells_its_story(name: str) -> None:
    scenario = built_in(name)
    assert scenario.title
    assert not scenario.title.endswith(".")
    assert len(scenario.title) <= 80
    assert 120 <= len(scenario.story) <= 700
    assert scenario.source, "which article tells of it"
    causes = {rule.cause for rule in diagnosis_rules()} | {"none"}
    for expected in scenario.expects:
        assert expected.cause in causes
        assert expected.phase is not None
        assert expected.sync is not None
        assert expected.health is not None
        assert expected.safety is not None
        assert expected.fix is not None
        if expected.phase != "None":
            assert expected.message is not None, "the exact words of Argo CD"
        if expected.cause != "none":
            assert expected.about is not None


WRONG_EXPECTATIONS = {
    "safety: unsafe": ("safety: safe", "safety of a sync is 'unsafe', expected 'safe'"),
    "fix: proven": ("fix: likely", "proof of the first fix is 'proven', expected 'likely'"),
    "fix: proven ": ("fix: none", "proof of the first fix is 'proven', expected 'none'"),
    "fix: proven  ": (
        "fix: {proof: proven, title: Sync}",
        "first fix is 'Let the autoscaler own it: remove replicas from Git', expected 'Sync'",
    ),
    "fix: proven   ": (
        "fix: {proof: proven, why: luck}",
        "why of the first fix is '', expected 'luck'",
    ),
}


def with_wrong_expectation(right: str) -> tuple[str, str]:
    """The text of a scenario with a wrong expectation, and the message about it."""
    wrong, message = WRONG_EXPECTATIONS[right]
    text = built_in("hpa-loop").text
    assert f"  {right.strip()}\n" in text
    return text.replace(f"  {right.strip()}\n", f"  {wrong}\n"), f"my-api-service: {message}"


@pytest.mark.parametrize("right", WRONG_EXPECTATIONS)
def test_a_wrong_expectation_is_found(right: str) -> None:
    text, message = with_wrong_expectation(right)
    mine = scenario_from(text, name="mine", origin="mine.yaml")
    assert differences(mine, diagnosed("hpa-loop")) == [message]


def test_a_wrong_expectation_is_reported(whysync: Whysync, tmp_path: Path) -> None:
    text, message = with_wrong_expectation("safety: unsafe")
    mine = tmp_path / "mine.yaml"
    mine.write_text(text)
    for command in (("lab", "test", str(mine)), ("lab", "run", str(mine), "--check")):
        result = whysync(*command, COLUMNS="200")
        assert (result.code, message in result.out) == (1, True), result.out


def test_what_a_proof_assumed_must_be_expected() -> None:
    scenario = built_in("missing-service-account")
    (expected,) = scenario.expects
    assert expected.fix is not None
    quiet = replace(scenario, expects=(replace(expected, fix=replace(expected.fix, why=None)),))
    (difference,) = differences(quiet, diagnosed("missing-service-account"))
    assert "why of the first fix is 'assumes that registry" in difference


def test_no_secret_leaves_the_lab(tmp_path: Path, whysync: Whysync) -> None:
    result = whysync("lab", "run", "migration-dead-database", "-o", "json", "--bundle", str(tmp_path / "b"))
    written = "".join(path.read_text() for path in (tmp_path / "b").rglob("*") if path.is_file())
    assert "not-so-secret" not in result.out + written
    assert "DATABASE_URL" in written
