"""ci/gitlab.yml: its jobs have what GitLab asks for, and a shell runs their scripts to the end they claim."""

from __future__ import annotations

import shutil

import pytest

from tests.ci.forms import check_code_quality, check_junit
from tests.ci.machine import Done, Machine
from tests.situations import ROOT
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.yaml import load

JOBS = fields(load((ROOT / "ci/gitlab.yml").read_text()))
KEYS = {"extends", "stage", "image", "variables", "before_script", "script", "artifacts", "rules"}
REPORTS = {"codequality", "junit"}


def job(name: str) -> Object:
    """With what it extends, as GitLab merges it: maps are laid over each other."""
    own = fields(JOBS[name])
    above = fields(JOBS[text(own["extends"])])
    return {**above, **own, "variables": {**fields(above["variables"]), **fields(own["variables"])}}


def run(machine: Machine, name: str, **variables: str) -> Done:
    """As the runner does: the lines of both scripts in one shell that ends at the first failure."""
    result = job(name)
    lines = [text(item) for key in ("before_script", "script") for item in items(result[key])]
    given = {key: text(value) for key, value in fields(result["variables"]).items()}
    # pip is a stand-in: the package is there already, and no test asks the network
    script = "\n".join(["set -e", 'python() { test "$*" != "" ; }', *lines])
    return machine.run(("sh", "-c", script), {**given, **variables})


@pytest.mark.parametrize("name", ["whysync-lint", "whysync-plan"])
def test_the_shape_of_a_job(name: str) -> None:
    result = job(name)
    assert fields(JOBS[name]).keys() <= KEYS
    assert all(isinstance(item, str) for item in fields(result["variables"]).values())
    assert all(isinstance(item, str) for item in (*items(result["before_script"]), *items(result["script"])))
    assert dig(result, "artifacts", "when") == "always", "a job that fails has the most to show"
    reports = fields(dig(result, "artifacts", "reports"))
    assert reports.keys() <= REPORTS
    written = " ".join(text(item) for item in items(result["script"]))
    for file in (*reports.values(), *items(dig(result, "artifacts", "paths"))):
        assert f"={text(file)}" in written, f"{file} is written by the script"
    for rule in items(result["rules"]):
        assert fields(rule).keys() <= {"if", "changes", "when", "exists"}


def test_lint(machine: Machine) -> None:
    done = run(machine, "whysync-lint", LINT_FLAGS="--no-render", CI_PIPELINE_SOURCE="merge_request_event")
    assert (done.code, done.err) == (1, "")
    assert "unknown_field" in done.out
    folder = machine.shop.folder
    result = check_code_quality((folder / "gl-code-quality-report.json").read_text())
    assert "unknown_field" in [item["check_name"] for item in result]
    assert check_junit((folder / "whysync-lint.xml").read_text())[0].get("failures") == "1"


def test_plan(machine: Machine) -> None:
    done = run(machine, "whysync-plan", PLAN_FLAGS="--no-proof", CI_MERGE_REQUEST_DIFF_BASE_SHA=machine.base)
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("Would fail.")
    folder = machine.shop.folder
    suite = check_junit((folder / "whysync-plan.xml").read_text())[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "<h1" in (folder / "whysync-plan.html").read_text()
    assert (folder / "whysync-plan.md").read_text().startswith("## ❌ Would fail")


def test_nothing_wrong(machine: Machine) -> None:
    machine.mend()
    assert run(machine, "whysync-lint", LINT_FLAGS="--no-render --fail-on critical").code == 0
    done = run(machine, "whysync-plan", CI_MERGE_REQUEST_DIFF_BASE_SHA=machine.base)
    assert (done.code, done.err) == (0, "")
    check_junit((machine.shop.folder / "whysync-plan.xml").read_text())


def test_the_shell_is_the_smallest(machine: Machine) -> None:
    """Images have no bash; dash takes nothing that POSIX does not."""
    if shutil.which("dash") is None:
        pytest.skip("there is no dash")
    for name in ("whysync-lint", "whysync-plan"):
        lines = [text(item) for key in ("before_script", "script") for item in items(job(name)[key])]
        assert machine("dash", "-n", "-c", "\n".join(lines)).code == 0
