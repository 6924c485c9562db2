"""The real kubectl, helm and git parse every command that whysync prints for the cases of its rules.

kubectl and helm get `--help` behind the arguments: they parse all flags first, and then do nothing. git runs
in an empty repository without access to any other: it exits with 129 for arguments that it does not know.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.fixes.printed import commands_of
from tests.fixes.shell import commands_in
from tests.rules.bench import BUNDLES, load_case
from whysync import app
from whysync.argocd.repo_server.render.options import RenderOptions

_USAGE = 129


@cache
def printed() -> tuple[tuple[str, ...], ...]:
    """The different command lines, without pipes."""
    return tuple(dict.fromkeys(tuple(command) for line in _lines() for command in commands_in(line)))


def _lines() -> Iterator[str]:
    for folder in BUNDLES:
        yield from commands_of(app.diagnose([load_case(folder)], prove=False))


@pytest.mark.parametrize("program", ["kubectl", "helm"])
def test_cobra_parses_it(program: str, options: RenderOptions) -> None:
    assert options.tools is not None
    binary = Path(options.tools) / program
    commands = [words for words in printed() if words[0] == program and words[1] != "argo"]
    refused: list[str] = []
    for _, *words in commands:
        end = words.index("--") if "--" in words else len(words)
        command = [str(binary), *words[:end], "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            refused.append(f"{' '.join(command[1:])}: {done.stderr.splitlines()[:1]}")
    assert commands
    assert refused == []


def test_git_parses_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    environment = {
        **os.environ,
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
    }
    commands = [words for words in printed() if words[0] == "git"]
    refused: list[str] = []
    for words in commands:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode == _USAGE or "is not a git command" in done.stderr:
            refused.append(f"{' '.join(words)}: {done.stderr.splitlines()[:1]}")
    assert commands
    assert refused == []
