"""No secret of a bundle or a checkout is in any answer of any tool."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.cli.secrets.minting import Mint
from tests.cli.secrets.scene import checkout, write_bundle
from tests.cli.secrets.test_canaries import leaks
from tests.mcp.asking import ask, toolbox_on
from whysync.mcp.tools import Toolbox


def everything(toolbox: Toolbox, tool: str, **arguments: object) -> str:
    """All pages of an answer."""
    pages, cursor = "", ""
    while cursor or not pages:
        called = ask(toolbox, tool, **arguments, cursor=cursor)
        pages += called.text + msgspec.json.encode(called.structured).decode()
        cursor = str((called.structured or {}).get("nextCursor", ""))
    return pages


def test_no_canary_of_a_bundle_is_in_an_answer(tmp_path: Path) -> None:
    mint, bundle = Mint(), tmp_path / "bundle"
    write_bundle(bundle, mint)
    toolbox = toolbox_on(bundle)
    outputs = {"list_apps": everything(toolbox, "list_apps", all=True)}
    for app in ("shop", "broken"):
        for detail in ("short", "full"):
            outputs[f"diagnose {app} {detail}"] = everything(toolbox, "diagnose", app=app, detail=detail)
        outputs[f"get_diff {app}"] = everything(toolbox, "get_diff", app=app)
    assert sum(map(len, outputs.values())) > 50_000
    assert leaks(mint, outputs) == []


def test_no_canary_of_a_checkout_is_in_a_plan(tmp_path: Path) -> None:
    mint = Mint()
    shop = checkout(tmp_path / "shop", mint)
    toolbox = toolbox_on(Path("/nowhere"), checkouts=[shop.folder])
    plan = everything(toolbox, "plan", base="main", live=False)
    assert '"apps":[' in plan
    assert len(plan) > 500
    assert leaks(mint, {"plan": plan}) == []
