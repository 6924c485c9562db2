"""The real kubectl, helm and git parse every command that whysync prints for its test cases.

Those of the rules, of the lab and, if they are there, of incidents and of real cases; of commands with the
same words and flags, one.

kubectl and helm get `--help` behind the arguments: they parse all flags first, and then do nothing. git runs
in an empty repository without access to any other: it exits with 129 for arguments that it does not know.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fixes.printed import commands_of
from tests.fixes.shell import commands_in
from tests.played import played
from tests.rules.bench import BUNDLES, load_case
from tests.shared import CORPUS, SHARED
from tools.corpus import FILES, load
from whysync import app
from whysync.argocd.repo_server.render.options import RenderOptions
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.lab.library import names

_USAGE = 129
INCIDENTS = SHARED / "reviews" / "incidents"


@cache
def printed() -> tuple[tuple[str, ...], ...]:
    """The different command lines, without pipes."""
    commands = (tuple(command) for line in _lines() for command in commands_in(line))
    return tuple({_shape(command): command for command in commands}.values())


def _shape(command: tuple[str, ...]) -> tuple[str, ...]:
    """The words of the program itself, and the flags; values of flags only after `=`."""
    flags = (word.partition("=")[0] for word in command if word.startswith("-"))
    words = [word for word in command[:6] if word.isalpha()]
    return (*words[:3], *flags, str(len(command)))


def _lines() -> Iterator[str]:
    for folder in BUNDLES:
        yield from commands_of(app.diagnose([load_case(folder)], prove=False))
    for name in names():
        cases = app.cases(SnapshotIndex(played(name).snapshot()))
        yield from commands_of(app.diagnose(cases, prove=False))
    with TemporaryDirectory() as folder:
        paths = list(INCIDENTS.rglob("*.yaml"))
        if CORPUS.exists():
            for file in FILES:
                load(CORPUS / "to_bundle.py").main(str(CORPUS / file), folder)
            paths += sorted(Path(folder).iterdir())
        for path in paths:
            facts = app.read(app.FactSource(bundles=(str(path),)))
            yield from commands_of(app.diagnose(app.cases(facts), prove=False))


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # to_bundle.py leaves it to be closed
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
