"""Small repositories, made with the real `git` in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


class Made:
    """A checkout that a test fills; its commits have fixed authors and times."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("git") is None:
            pytest.skip("there is no git here")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, given: bytes = b"") -> str:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.org",
            "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
            "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        }
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=env, input=given, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, str], message: str = "change") -> str:
        for path, content in files.items():
            full = self.folder / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "checkout")
