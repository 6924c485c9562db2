"""The hooks with pre-commit itself, in a repository never seen before: `try-repo`, then by a config."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.ci.machine import Machine

CONFIG = """\
repos:
  - repo: {repo}
    rev: {commit}
    hooks:
      - id: whysync-lint
      - id: whysync-lint-changed
      - id: whysync-plan
"""


class Checkout:
    def __init__(self, program: str, published: Path, folder: Path) -> None:
        self.program, self.published, self.folder = program, published, folder
        self.machine = Machine(folder / "machine")
        commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=published, text=True).strip()
        self.config = folder / "config.yaml"
        self.config.write_text(CONFIG.format(repo=published, commit=commit))

    def __call__(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [self.program, *arguments, "--verbose"],
            cwd=self.machine.shop.folder,
            env={**os.environ, "PRE_COMMIT_HOME": str(self.folder / "home"), "PRE_COMMIT_COLOR": "never"},
            capture_output=True,
            check=False,
            timeout=280,
        )
        return done.returncode, done.stdout.decode() + done.stderr.decode()

    def run(self, hook: str, *arguments: str) -> tuple[int, str]:
        return self("run", hook, "--config", str(self.config), *arguments)


@pytest.fixture(scope="module")
def checkout(pre_commit: str, published: Path, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """One for all: each installation of whysync takes its time."""
    return Checkout(pre_commit, published, tmp_path_factory.mktemp("checkout"))


def test_try_repo(checkout: Checkout) -> None:
    code, output = checkout("try-repo", str(checkout.published), "whysync-lint", "--all-files")
    assert code == 1, output
    assert "hook id: whysync-lint" in output
    assert "unknown_field" in output


def test_changed_files(checkout: Checkout) -> None:
    code, output = checkout.run("whysync-lint-changed", "--files", "apps/shop/config.yaml")
    assert code == 0, output
    code, output = checkout.run("whysync-lint-changed", "--files", "apps/other/wrong.yaml")
    assert code == 1, output
    assert "no files to check" in checkout.run("whysync-lint-changed", "--files", "README.md")[1]


def test_before_a_push(checkout: Checkout) -> None:
    code, output = checkout.run("whysync-plan", "--hook-stage", "pre-push", "--all-files")
    assert code == 1, output
    assert "Would fail." in output
    checkout.machine.mend()
    code, output = checkout.run("whysync-plan", "--hook-stage", "pre-push", "--all-files")
    assert code == 0, output
