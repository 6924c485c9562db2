"""`make demo`, and the examples with their README."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from tests.cli.running import process, small_environment
from tests.situations import EXAMPLES, ROOT
from tools.demo import NEXT, STORIES
from whysync.cli.parser import parser
from whysync.lab.library import names

README = ROOT / "examples/README.md"
COMMANDS = re.findall(r"^    whysync (.+?)(?: +#.*)?$", README.read_text(), re.MULTILINE)


def test_the_demo_tells_four_short_stories() -> None:
    done = subprocess.run(
        [sys.executable, "tools/demo.py"],
        capture_output=True,
        cwd=ROOT,
        env=small_environment({"COLUMNS": "80"}),
        check=False,
        timeout=300,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Traceback" not in done.stdout
    stories = done.stdout.split("\n── ")[1:]
    assert [story.split(" ─")[0] for story in stories[:-1]] == [
        f"{number}. {story.title}" for number, story in enumerate(STORIES, 1)
    ]
    for text, story in zip(stories, STORIES, strict=False):
        assert f"$ whysync diagnose --bundle {story.scenario}\n✗ " in text
        assert "sync now?" in text
    assert len(done.stdout.splitlines()) <= 155


def test_the_demo_ends_with_commands_to_try() -> None:
    """The commands are parsed here; what they print is tested where it belongs."""
    commands = re.findall(r"^  whysync (.+?)(?:   .*)?$", NEXT, re.MULTILINE)
    assert 3 <= len(commands) <= 4
    for command in commands:
        parser().parse_args(command.split())
    assert {story.scenario for story in STORIES} <= set(names())


def test_every_example_is_listed_in_the_readme_of_examples() -> None:
    text = README.read_text()
    for example in EXAMPLES:
        assert f"`{example.name}{'/' if example.is_dir() else ''}`" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_readme_of_examples_run(command: str) -> None:
    result = process(*shlex.split(command), environ={"COLUMNS": "80"})
    assert (result.code, result.err) == (1, "")
    assert result.out


def test_the_readme_of_examples_has_a_command_for_each() -> None:
    for example in EXAMPLES:
        assert any(command == f"diagnose --bundle examples/{example.name}" for command in COMMANDS)
