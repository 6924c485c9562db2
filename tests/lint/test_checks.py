"""Each check says exactly this of its cases, nothing of its near misses, and what it offers silences it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.golden import Golden
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.rule import Rule
from whysync.lint.autofix import fixed
from whysync.lint.baseline import key_of
from whysync.lint.check_tree import lint_rules
from whysync.lint.lint import NO_MANIFESTS, lint
from whysync.lint.outcome import Outcome
from whysync.manifests.configuration import Configuration, read_configuration
from whysync.manifests.tree import Tree

CASES = Path(__file__).with_name("cases")
CHECKS = {check.id: check for check in lint_rules()}
FOLDERS = sorted(case for check in CASES.iterdir() for case in check.iterdir())


def linted(folder: Path, check: Rule[Tree]) -> Outcome:
    settings = folder / ".whysync.yaml"
    configuration = (
        read_configuration(settings.read_text(), str(settings), CHECKS)
        if settings.exists()
        else Configuration()
    )
    return lint(["."], configuration, rules=(check,))[0]


def shown(findings: tuple[Finding, ...]) -> str:
    return "".join(
        f"{finding.place} {finding.severity}: {finding.verdict}"
        f"{f' -> {finding.hint}' if finding.hint else ''}\n"
        for finding in findings
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_check_says_exactly_this(folder: Path, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    check = CHECKS[folder.parent.name]
    monkeypatch.chdir(folder)
    outcome = linted(folder, check)
    own = tuple(finding for finding in outcome.findings if finding.rule == check.id)
    assert not [note for note in outcome.notes if note.matters and note.why != NO_MANIFESTS]
    assert bool(own) != folder.name.startswith("near_miss")
    golden(folder / "expected.txt", shown(own))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_a_check_offers_silences_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = CHECKS[folder.parent.name]
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    before, tree = lint(["."], rules=(check,))
    offered = [finding for finding in before.findings if finding.fixes]
    for file in tree.files:
        own = [
            candidate
            for candidate in offered
            if candidate.path == file.path and any(fix.keeps_meaning for fix in candidate.fixes)
        ]
        text, done = fixed(file, own)
        Path(file.path).write_text(text)
        assert text.count("#") == file.text.count("#"), "comments stay"
        after = {key_of(finding) for finding in lint([file.path], rules=(check,))[0].findings}
        assert not after & {key_of(candidate) for candidate in done}


@pytest.mark.parametrize("check", lint_rules(), ids=lambda check: check.id)
def test_every_check_has_a_page_cases_and_near_misses(check: Rule[Tree]) -> None:
    assert check.title
    for heading in ("## Why", "## Bad", "## Good"):
        assert heading in check.docs
    if check.id == "last_applied_too_long":
        return  # its cases are made below: nobody wants to read them
    names = [case.name for case in (CASES / check.id).iterdir()]
    assert [name for name in names if name.startswith("near_miss")]
    assert [name for name in names if not name.startswith("near_miss")]


@pytest.mark.parametrize(
    ("size", "option", "speaks"),
    [(300_000, "", True), (300_000, "ServerSideApply=true", False), (200_000, "", False)],
    ids=["too large", "applied on the server", "near miss"],
)
def test_objects_too_large_to_apply(
    size: int, option: str, speaks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = (CASES / "app_without_retry/near_miss_by_hand/a.yaml").read_text()
    Path("app.yaml").write_text(f"{app}  syncPolicy:\n    syncOptions: [{option}]\n" if option else app)
    Path("app").mkdir()
    Path("app/big.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: big}}\ndata: {{a: {'x' * size}}}\n"
    )
    findings = lint(["."], rules=(CHECKS["last_applied_too_long"],))[0].findings
    assert bool(findings) is speaks
