"""GitHub: the workflow runs what .ci/run runs and may only read; the issue forms are well formed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.situations import ROOT
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.yaml import load

GITHUB = ROOT / ".github"
WORKFLOW = fields(load((GITHUB / "workflows/ci.yml").read_text()))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
ELEMENTS = {"checkboxes", "dropdown", "input", "markdown", "textarea"}


def test_the_workflow_runs_what_ci_run_runs() -> None:
    job = fields(fields(WORKFLOW["jobs"])["make"])
    rows = items(fields(fields(job["strategy"])["matrix"])["include"])
    targets = [target for row in rows for target in text(fields(row)["targets"]).split()]
    assert targets == re.findall(r"^make (\S+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)


def test_the_workflow_may_only_read() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    for job in fields(WORKFLOW["jobs"]).values():
        assert "permissions" not in fields(job)
        assert "timeout-minutes" in fields(job)


def test_actions_are_pinned_to_a_major_version() -> None:
    used = re.findall(r"uses: (\S+)", (GITHUB / "workflows/ci.yml").read_text())
    assert used
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_what_github_requires(path: Path) -> None:
    form = fields(load(path.read_text()))
    assert {"name", "description", "body"} <= set(form)
    ids = [text(fields(element)["id"]) for element in items(form["body"])]
    assert len(ids) == len(set(ids))
    for element in items(form["body"]):
        assert text(fields(element)["type"]) in ELEMENTS
        assert text(fields(fields(element)["attributes"])["label"])


def test_a_report_of_a_bug_asks_for_a_bundle() -> None:
    for name in ("bug.yml", "wrong-answer.yml"):
        assert "whysync collect APP -o bundle.tar.gz" in (GITHUB / "ISSUE_TEMPLATE" / name).read_text()
