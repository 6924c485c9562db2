"""What reaches a terminal: colour only where it is wanted, no control characters, any width."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.running import Ran, Whysync
from tests.situations import EXAMPLES, ROOT, application, bundle, config_map, row
from whysync.json_tree import Object

AUTOSCALER = str(ROOT / "examples/autoscaler-loop")
ESCAPE = "\x1b["
# A title for the window, a cleared screen, a bell, a C1 introducer, text turned around, a new line.
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f\r\nevil"


def hostile() -> list[Object]:
    app = application(
        f"shop{EVIL}",
        sync=f"OutOfSync{EVIL}",
        health=f"Degraded{EVIL}",
        labels={"team": EVIL},
        spec={"project": EVIL, "destination": {"name": EVIL, "namespace": f"shop{EVIL}"}},
        status={
            "conditions": [{"type": f"ComparisonError{EVIL}", "message": f"Failed to load{EVIL}"}],
            "resources": [
                row("ConfigMap", "settings", "OutOfSync"),
                row("Deployment", f"web{EVIL}", f"Synced{EVIL}", health={"status": EVIL, "message": EVIL}),
                row("ConfigMap", f"gone{EVIL}", "OutOfSync", requiresPruning=True),
            ],
            "operationState": {
                "phase": f"Failed{EVIL}",
                "message": EVIL,
                "operation": {"initiatedBy": {"username": EVIL}},
                "syncResult": {
                    "revision": EVIL,
                    "resources": [
                        {
                            "kind": "Job",
                            "name": EVIL,
                            "status": "SyncFailed",
                            "message": EVIL,
                            "hookType": EVIL,
                        }
                    ],
                },
            },
        },
    )
    return [
        app,
        config_map(data={f"key{EVIL}": f"git{EVIL}", "plain": EVIL}, desired=True),
        config_map(data={f"key{EVIL}": f"live{EVIL}", "plain": "x"}),
    ]


COMMANDS = [
    ("diagnose",),
    ("diagnose", "-o", "wide"),
    ("diagnose", "-o", "json"),
    ("diagnose", "-o", "yaml"),
    ("diagnose", "-o", "markdown"),
    ("diagnose", "-o", "name"),
    ("list",),
    ("list", "-o", "wide"),
    ("list", "-o", "json"),
    ("list", "-o", "yaml"),
    ("list", "-o", "markdown"),
    ("list", "-o", "name"),
]
GETS = ["text", "wide", "json", "yaml", "name"]


def obeyed_by_a_terminal(text: str) -> list[str]:
    """Every character that does something instead of showing something."""
    return sorted({c for c in text if not c.isprintable() and c != "\n"})


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_control_characters_never_reach_the_terminal(
    whysync: Whysync, tmp_path: Path, command: tuple[str, ...]
) -> None:
    result = whysync(*command, "--bundle", bundle(tmp_path, *hostile()))
    assert result.code in (0, 1, 3)
    assert "shop" in result.out
    assert obeyed_by_a_terminal(result.out) == []
    assert obeyed_by_a_terminal(result.err) == []


@pytest.mark.parametrize("format", GETS)
def test_nor_by_get(whysync: Whysync, tmp_path: Path, format: str) -> None:
    path = bundle(tmp_path, *hostile())
    result = whysync("get", f"shop{EVIL}", "--bundle", path, "-o", format, "--show-operation")
    assert result.code == 0
    assert obeyed_by_a_terminal(result.out) == []


def test_nor_by_an_error_that_names_apps(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync(f"shoq{EVIL}", "--bundle", bundle(tmp_path, *hostile()))
    assert result.code == 2
    assert "did you mean" in result.err
    assert obeyed_by_a_terminal(result.err) == []


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\x85", "\x9b", "\u202e", "\u2066"])
def test_json_keeps_what_it_escapes(whysync: Whysync, tmp_path: Path, character: str) -> None:
    name = f"shop{character}x"
    result = whysync("list", "--bundle", bundle(tmp_path, application(name)), "-o", "json")
    assert json.loads(result.out)["apps"][0]["name"] == name


def test_colour_only_where_it_is_wanted(whysync: Whysync) -> None:
    arguments = ("diagnose", "--bundle", AUTOSCALER)
    assert ESCAPE not in whysync(*arguments).out, "not a terminal"
    colored = whysync(*arguments, FORCE_COLOR="1")
    assert ESCAPE in colored.out
    assert ESCAPE not in whysync(*arguments, "--no-color", FORCE_COLOR="1").out
    assert ESCAPE not in whysync(*arguments, FORCE_COLOR="1", NO_COLOR="1").out
    assert ESCAPE not in whysync(*arguments, FORCE_COLOR="1", WHYSYNC_NO_COLOR="1").out
    assert ESCAPE in whysync(*arguments, FORCE_COLOR="1", WHYSYNC_NO_COLOR="0").out
    assert ESCAPE not in whysync(*arguments, "-o", "json", FORCE_COLOR="1").out


def test_colour_changes_no_letter(whysync: Whysync) -> None:
    for command in ("diagnose", "list"):
        plain = whysync(command, "--bundle", AUTOSCALER).out
        colored = whysync(command, "--bundle", AUTOSCALER, FORCE_COLOR="1").out
        assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_80_columns_are_enough_for_prose(whysync: Whysync, example: Path) -> None:
    """Patches and commands stand as they are, to be copied; all else is wrapped."""
    result = whysync("diagnose", "--bundle", str(example), COLUMNS="80")
    long = [line for line in result.out.splitlines() if len(line) > 80]
    kept_whole = [line for line in long if re.search(r"\b(kubectl|argocd|patch|whysync fix)\b", line)]
    assert long == kept_whole


@pytest.mark.parametrize("columns", ["1", "20", "40", "80", "300", "nonsense", "-5"])
def test_any_width_has_the_same_words(whysync: Whysync, columns: str) -> None:
    def words(ran: Ran) -> list[str]:
        return re.sub(r"(?m)^\s*# ", "", ran.out).split()  # each line of a comment has its mark

    expected = words(whysync("diagnose", "--bundle", AUTOSCALER, COLUMNS="80"))
    assert words(whysync("diagnose", "--bundle", AUTOSCALER, COLUMNS=columns)) == expected


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_a_table_is_cut_at_the_edge(whysync: Whysync, columns: str) -> None:
    bundles = [argument for path in EXAMPLES for argument in ("--bundle", str(path))]
    lines = whysync("list", *bundles, COLUMNS=columns).out.splitlines()
    causes = ("repo-auth", "hook-failed", "polling-lag", "controller-owned", "crashloop")
    assert all(any(cause in line for line in lines) for cause in causes), "never cut"
    start = lines[0].index("CAUSE")
    assert all(len(line) <= max(int(columns), start + 20) for line in lines)
    wide = whysync("list", *bundles, "-o", "wide", COLUMNS=columns).out.splitlines()
    assert not any(line.endswith("…") for line in wide)
