"""Every page in a real browser: no errors, accessible, in every width and in dark mode, no other requests."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from suites.web.conftest import Open

_VARIANTS = {
    "wide": (1280, False),
    "dark": (1280, True),
    "tablet": (820, False),
    "phone": (390, False),
    "phone-dark": (360, True),
}


def _pages(page: Page) -> list[str]:
    """The fleet, its views, each app, its objects, and the incidents."""
    expect(page.locator("[data-app]")).to_have_count(3)
    apps = [link.get_attribute("href") or "" for link in page.locator("a.app").all()]
    return [
        "/",
        "/?state=all",
        "/?q=nothing-has-this",
        *apps,
        f"{apps[0]}/objects",
        "/incidents",
        "/incidents/1",
        "/sources",
    ]


@pytest.mark.parametrize("variant", _VARIANTS)
def test_every_page_is_accessible_and_fits(site: str, tab: Open, axe: str, variant: str) -> None:
    width, dark = _VARIANTS[variant]
    opened = tab(site, width=width, dark=dark)
    for path in _pages(opened.open("/")):
        page = opened.open(path)
        expect(page.locator("h1")).to_have_count(1)
        for part in page.locator("details").all():
            part.evaluate("part => { part.open = true; }")
        overflow = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow <= 0, f"{path} is {overflow} pixels too wide"
        page.evaluate(axe)  # the protocol of the browser, not a script of the page: the CSP stays in force
        result = json.loads(page.evaluate("axe.run().then(JSON.stringify)"))
        found = [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in result["violations"]]
        assert found == [], path


def test_dark_mode_changes_the_colors(site: str, tab: Open) -> None:
    color = "getComputedStyle(document.body).backgroundColor"
    light = tab(site).open("/").evaluate(color)
    assert light != tab(site, dark=True).open("/").evaluate(color)


def test_the_diff_needs_no_scrolling_on_a_phone(site: str, tab: Open) -> None:
    opened = tab(site, width=390)
    opened.open("/?q=autoscaler").locator("a.app").click()
    diff = opened.page.get_by_role("region", name="Deployment: live and after a sync")
    expect(diff).to_contain_text("replicas: 1")
    assert diff.evaluate("part => part.scrollWidth - part.clientWidth") <= 0


def test_pages_work_without_scripts(site: str, tab: Open) -> None:
    opened = tab(site, script=False)
    page = opened.open("/")
    page.locator("#search").fill("autoscaler")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("[data-app]")).to_have_count(1)
    page.locator("a.app").click()
    expect(page.locator("h1")).to_have_text("my-api-service")
    page.locator(".evidence summary").first.click()
    expect(page.locator(".evidence pre").first).to_be_visible()


def test_an_app_shows_proofs_when_they_are_ready_and_copies_a_fix(site: str, tab: Open) -> None:
    opened = tab(site)
    page = opened.open("/?q=autoscaler")
    page.locator("a.app").click()
    expect(page.locator(".fix .badge.good").first).to_have_text("✓ proven", timeout=60_000)
    expect(page.locator(".sync-now .badge")).to_have_text("NO")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy fix 1").click()
    expect(page.locator("button.copy").first).to_have_text("Copied")
    assert "replicas" in page.evaluate("navigator.clipboard.readText()")
