"""pre-commit itself, from PyPI, in an environment of its own outside the tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from whysync.argocd.repo_server.git.repo import cache_folder

_VERSION = "4.7.0"


@pytest.fixture(scope="session")
def pre_commit() -> str:
    result = shutil.which("pre-commit")
    if result is not None:
        return result
    environment = (
        cache_folder() / f"pre-commit-{_VERSION}-py{sys.version_info.major}.{sys.version_info.minor}"
    )
    program = environment / "bin" / "pre-commit"
    if not program.exists():
        venv.create(environment, with_pip=True, clear=True)
        expected = [f"pre-commit=={_VERSION}", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [environment / "bin" / "python", "-m", "pip", "install", *expected],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            shutil.rmtree(environment)
            pytest.fail(f"pre-commit cannot be installed: {done.stderr.decode()[-300:]}")
    return str(program)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as others fetch it: what is committed, and nothing else."""
    root = Path(__file__).parents[2]
    clone = tmp_path_factory.mktemp("published") / "whysync"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(root), str(clone)], check=True)
    return clone
