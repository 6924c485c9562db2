"""The files for CI: they name flags that exist, and the GitHub step does what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.situations import ROOT
from whysync.cli.parser import parser
from whysync.contracts.tree import dig, fields, items, text
from whysync.contracts.yaml import load

FLAGS = {flag for action in parser().verbs()["lint"]._actions for flag in action.option_strings}  # pyright: ignore[reportPrivateUsage]  (no public way)
FILES = (".pre-commit-hooks.yaml", "action.yml", "ci/gitlab.yml", "ci/github.sh", "docs/linting.md")


@pytest.mark.parametrize("name", FILES)
def test_every_flag_exists(name: str) -> None:
    written = (ROOT / name).read_text()
    for line in re.findall(r"whysync lint([^\n`]*)", written):
        for flag in re.findall(r"(?<![\w-])--[a-z-]+", line):
            if flag != "--":
                assert flag in FLAGS, f"{name}: {flag}"


def test_the_files_are_yaml_that_their_readers_take() -> None:
    hooks = items(load((ROOT / ".pre-commit-hooks.yaml").read_text()))
    assert [text(fields(one).get("id")) for one in hooks] == ["whysync-lint", "whysync-lint-changed"]
    action = load((ROOT / "action.yml").read_text())
    assert dig(action, "runs", "using") == "composite"
    steps = items(dig(action, "runs", "steps"))
    assert not [one for one in steps if "${{" in text(fields(one).get("run"))], "inputs are no commands"
    job = fields(fields(load((ROOT / "ci/gitlab.yml").read_text())).get("whysync-lint"))
    assert dig(job, "artifacts", "reports", "codequality") == "gl-code-quality-report.json"


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_github_step(tmp_path: Path) -> None:
    shim = tmp_path / "bin/whysync"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m whysync.cli.main "$@"\n')
    shim.chmod(0o755)
    bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n"
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps/a.yaml").write_text(bad)
    summary = tmp_path / "summary.md"
    done = subprocess.run(
        ["bash", str(ROOT / "ci/github.sh")],
        cwd=tmp_path,
        env={
            "PATH": f"{shim.parent}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(summary),
            "LINT_PATHS": "apps",
            "LINT_SARIF": "out.sarif",
            "LINT_ARGUMENTS": "--no-render",
            "PYTHONIOENCODING": "utf-8",
        },
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1, done.stderr.decode()
    assert done.stdout.decode().startswith("::error file=apps/a.yaml,line=4,title=unknown_field::")
    assert "whysync lint: 1 critical" in summary.read_text()
    assert (tmp_path / "out.sarif").exists()
