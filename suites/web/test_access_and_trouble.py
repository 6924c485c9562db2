"""Signing in, and pages that report trouble: a source that is away, an app that does not exist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from suites.web.conftest import Open
from suites.web.server import served
from tests.situations import ROOT
from whysync.json_tree import Json
from whysync.kubernetes.api import yaml

_BUNDLE = ROOT / "examples" / "autoscaler-loop"
_TOKEN = "a-token-that-is-long-enough"


def _accessible(page: Page, axe: str) -> None:
    page.evaluate(axe)
    result = json.loads(page.evaluate("axe.run().then(JSON.stringify)"))
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in result["violations"]] == []


def test_a_viewer_signs_in_and_sees_live_pages(tab: Open, axe: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(_TOKEN)
    arguments = ("--access-token-file", tmp_path / "token", "--bundle", _BUNDLE, "--no-proof")
    with served(*arguments) as address:
        opened = tab(address)
        page = opened.open("/incidents?open=true")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        _accessible(page, axe)
        page.get_by_label("Access token").fill("a-token-of-somebody-else")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("This token is not valid.")
        _accessible(page, axe)
        opened.problems.clear()  # the browser reports the answer 401
        page.get_by_label("Access token").fill(_TOKEN)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Incidents", exact=True)).to_be_visible()
        expect(page.locator("#live")).to_have_text("live")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_trouble_is_shown_in_accessible_pages(tab: Open, axe: str, tmp_path: Path, *, dark: bool) -> None:
    config = tmp_path / "whysync.yaml"
    instances: list[Json] = [
        {"name": "here", "bundle": str(_BUNDLE)},
        {"name": "away", "server": "127.0.0.1:1", "plaintext": True, "tokenFrom": {"env": "PATH"}},
    ]
    config.write_text(yaml.dump({"version": 1, "instances": instances}))
    with served("--config", config, "--no-proof") as address:
        opened = tab(address, width=390, dark=dark)
        page = opened.open("/")
        expect(page.get_by_role("alert")).to_contain_text("away has not been read")
        expect(page.get_by_role("alert")).to_contain_text("last known state")
        expect(page.locator("[data-app]")).to_have_count(1)
        _accessible(page, axe)
        page = opened.open("/sources")
        expect(page.get_by_role("heading", name="1 of 2 sources not read")).to_be_visible()
        expect(page.locator(".sources .badge.bad")).to_have_text("failing")
        _accessible(page, axe)
        page = opened.open("/apps/here/argocd/nobody")
        expect(page.get_by_role("heading", name="App not found")).to_be_visible()
        _accessible(page, axe)
        opened.problems.clear()  # the browser reports the answer 404
