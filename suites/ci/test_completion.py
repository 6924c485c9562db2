"""Completion in the real shells: what a person gets after pressing Tab."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.situations import ROOT

BUNDLE = "examples/autoscaler-loop"
TYPED = {
    "whysync diagn": "diagnose",
    "whysync list --brok": "--broken",
    "whysync list --sort severi": "severity",
    "whysync diagnose -o shor": "short",
    "whysync diagnose --output=shor": "--output=short",
    "whysync lab ru": "run",
    "whysync lab run controller-d": "controller-down",
    "whysync list --cause hook-fai": "hook-failed",
    "whysync explain container_oom": "container_oom_killed",
    "whysync completion fis": "fish",
    f"whysync get --bundle {BUNDLE} my-": "my-api-service",
    "whysync list --kubeconfig KUBE --context arn:aws:eks:eu:1:cluster/p": "arn:aws:eks:eu:1:cluster/prod",
}
FILE = f"whysync get --bundle {BUNDLE[:-2]}"


def shell(name: str) -> str:
    """The shell, installed from Debian's packages if that is possible."""
    result = shutil.which(name)
    if result is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", name]):
            subprocess.run(command, capture_output=True, check=False)
        result = shutil.which(name)
    if result is None:
        pytest.fail(f"{name} is not installed: sudo apt-get install zsh fish")
    return result


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    (folder / "kube").write_text('{"contexts": [{"name": "arn:aws:eks:eu:1:cluster/prod"}]}')
    for name in ("bash", "zsh", "fish"):
        program = [sys.executable, "-m", "whysync", "completion", name]
        (folder / name).write_text(subprocess.check_output(program, text=True))
    return folder


def environment(home: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    cache = str(home / "cache")
    return {"PATH": path, "HOME": str(home), "WHYSYNC_CACHE": cache, "TERM": "dumb", "LANG": "C.UTF-8"}


# Enter shows the words of the completed line instead of running it.
_SHOW = (
    'whysync() { if [ "$1" = __complete ]; then command whysync "$@"; else'
    " printf 'WORDS'; printf '<%s>' \"$@\"; echo; fi; }"
)


def last_word_after_tab(command: list[str], home: Path, script: str, typed: str) -> str:
    """The last word of the line after Tab in an interactive shell."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execve(command[0], command, environment(home))
    try:
        os.write(terminal, f"PS1='> '; source {home}/{script}; {_SHOW}; echo rea''dy\n".encode())
        _until(terminal, r"\nready")
        os.write(terminal, f"{typed}\t\n".encode())
        printed = _until(terminal, r"WORDS(<.*>)\n")
        os.write(terminal, b"exit\n")
        return re.findall(r"<([^<>]*)>", printed)[-1]
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def _until(terminal: int, pattern: str) -> str:
    text = ""
    deadline = time.monotonic() + 120
    while not (match := re.search(pattern, text.replace("\r", ""))):
        assert time.monotonic() < deadline, text
        if select.select([terminal], [], [], 1)[0]:
            text += os.read(terminal, 65536).decode("utf-8", "replace")
    return match[0]


@pytest.mark.parametrize("typed", [*TYPED, FILE])
@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_bash_and_zsh(home: Path, name: str, typed: str) -> None:
    command = [shell(name), "--norc" if name == "bash" else "-f", "-i"]
    completed = last_word_after_tab(command, home, name, typed.replace("KUBE", f"{home}/kube"))
    assert completed.rstrip("/") == TYPED.get(typed, BUNDLE)


@pytest.mark.parametrize("typed", [*TYPED, FILE])
def test_fish(home: Path, typed: str) -> None:
    expected = TYPED.get(typed, BUNDLE)
    script = f"source {home}/fish; complete -C '{typed.replace('KUBE', f'{home}/kube')}'"
    result = subprocess.run(
        [shell("fish"), "--no-config", "-c", script],
        env=environment(home), cwd=ROOT, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert expected in [line.partition("\t")[0].rstrip("/") for line in result.stdout.splitlines()], result
