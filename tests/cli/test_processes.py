"""Real processes: entry points, pipes that close early, logging, completion in a real shell."""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.cli.running import Whysync, process, small_environment
from tests.situations import EXAMPLES, ROOT
from whysync import __version__
from whysync.cli import main as entry

DOCS = str(ROOT / "examples/push-not-seen")
ALL = [word for path in EXAMPLES for word in ("--bundle", str(path))]


@pytest.mark.parametrize("flag", ["--version", "-V", "version"])
def test_version(flag: str) -> None:
    result = process(flag)
    assert (result.code, result.out, result.err) == (0, f"whysync {__version__}\n", "")


@pytest.mark.parametrize("name", ["whysync", "kubectl-whysync"])
def test_it_is_installed_under_both_names(name: str) -> None:
    (script_entry,) = entry_points(group="console_scripts", name=name)
    assert script_entry.load() is entry.main
    script = Path(sys.executable).with_name(name)
    done = subprocess.run(
        [script, "list", "--bundle", DOCS, "-o", "name"],
        capture_output=True,
        env=small_environment(),
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (1, b"argocd/docs\n")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m whysync explain | head -n 1; exit ${{PIPESTATUS[0]}}"
    for _ in range(3):
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            cwd=ROOT,
            env=small_environment(),
            check=False,
            timeout=300,
        )
        assert done.returncode == 0
        assert done.stderr == b""


def test_a_closed_reader_is_no_error() -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "whysync", "diagnose", *ALL, "-o", "json", "--exit-zero"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=small_environment(),
    )
    with started:
        assert started.stdout is not None
        started.stdout.close()
        assert started.stderr is not None
        assert started.stderr.read() == b""
    assert started.returncode == 0


def test_logging_goes_to_standard_error_only() -> None:
    quiet = process("diagnose", "--bundle", DOCS)
    loud = process("diagnose", "--bundle", DOCS, "-vv")
    assert quiet.err == ""
    assert loud.out == quiet.out


def test_what_the_log_says_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, root.handlers = root.handlers, []
    try:
        entry.main(["diagnose", "--bundle", DOCS, "-v"])
        capsys.readouterr()
        logging.getLogger("whysync.test").info("said")
        logging.getLogger("whysync.test").debug("not said")
    finally:
        root.handlers = before
        root.setLevel(logging.WARNING)
    assert capsys.readouterr().err == "INFO whysync.test: said\n"


def test_ascii_terminals_get_ascii_marks() -> None:
    result = process(
        "diagnose", "--bundle", DOCS, environ={"PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C"}
    )
    assert result.code == 1
    assert result.out.isascii()
    assert "UnicodeEncodeError" not in result.err


def test_every_verb_has_help_and_every_flag_a_word(whysync: Whysync) -> None:
    for verb in ("diagnose", "list", "get", "explain", "completion"):
        result = whysync(verb, "--help")
        assert result.code == 0
        assert result.out.startswith(f"usage: whysync {verb}")
        assert "--no-color" in result.out
