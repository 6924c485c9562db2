"""Calls of tools on a small bundle, without a protocol in between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from whysync.app import FactSource
from whysync.history.history import History
from whysync.json_tree import Json, Object
from whysync.mcp.facts import Facts
from whysync.mcp.tools import Called, Toolbox


def bundle_of(folder: Path, *objects: Object) -> Path:
    file = folder / "bundle.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list[Json](objects)}))
    return file


def toolbox_on(*bundles: Path, checkouts: Sequence[Path] = (), history: History | None = None) -> Toolbox:
    source = FactSource(bundles=tuple(map(str, bundles)))
    return Toolbox(Facts(lambda _deadline: source), checkouts=tuple(checkouts), history=history)


def ask(toolbox: Toolbox, name: str, **arguments: object) -> Called:
    tool = toolbox.get(name)
    assert tool is not None
    return toolbox.call(tool, arguments)


def answered(toolbox: Toolbox, name: str, **arguments: object) -> Object:
    """The structured answer; an error fails the test."""
    called = ask(toolbox, name, **arguments)
    assert not called.is_error, called.text
    assert called.structured is not None
    return called.structured


def wire_size(called: Called) -> int:
    return len(msgspec.json.encode((called.text, called.structured)))
