"""The configurations in docs/mcp.md: valid files, with flags that `whysync mcp` has."""

from __future__ import annotations

import re
import shlex
import tomllib

import msgspec

from tests.situations import ROOT
from whysync.cli.parser import parser
from whysync.json_tree import Json, fields, items, text
from whysync.mcp.tools import TOOLS

PAGE = (ROOT / "docs/mcp.md").read_text()


def servers() -> list[Json]:
    """The entry of whysync in each configuration."""
    blocks = re.findall(r"```(json|toml)\n(.*?)```", PAGE, re.DOTALL)
    found: list[Json] = []
    for language, content in blocks:
        config = tomllib.loads(content) if language == "toml" else msgspec.json.decode(content)
        (section,) = fields(config).values()
        found.append(fields(section)["whysync"])
    return found


def test_every_configuration_starts_the_server() -> None:
    assert len(servers()) == 3
    for server in map(fields, servers()):
        assert server["command"] == "whysync"
        arguments = [text(argument) for argument in items(server["args"])]
        assert parser({}, verb="mcp").parse_args(arguments).verb == "mcp"


def test_every_command_on_the_page_is_valid() -> None:
    commands = re.findall(r"^    (?:claude mcp add whysync -- )?(whysync mcp.*)$", PAGE, re.MULTILINE)
    assert len(commands) >= 5
    for command in commands:
        arguments = shlex.split(command, comments=True)[1:]
        assert parser({}, verb="mcp").parse_args(arguments).verb == "mcp"


def test_the_page_names_every_tool_and_its_arguments() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", PAGE, re.MULTILINE))
    assert set(rows) == {tool.name for tool in TOOLS}
    for tool in TOOLS:
        named = set(re.findall(r"`(\w+)`", rows[tool.name]))
        assert named <= set(tool.arguments.__struct_fields__)
