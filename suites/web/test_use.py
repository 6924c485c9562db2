"""What a person does with the pages: search, filter, keys, live updates, and facts that want to be markup."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import expect

from suites.web.conftest import Open
from suites.web.server import served
from tests.situations import ROOT
from tests.web.test_pages import HOSTILE, hostile_application
from whysync.kubernetes.api import yaml

EXAMPLES = ROOT / "examples"


def test_typing_filters_and_the_address_is_a_deep_link(site: str, tab: Open) -> None:
    opened = tab(site)
    page = opened.open("/")
    page.locator("#search").press_sequentially("autoscaler")
    expect(page.locator("[data-app]")).to_have_count(1)
    expect(page.locator("#search")).to_be_focused()
    expect(page.locator("#search")).to_have_value("autoscaler")
    assert page.url.endswith("/?q=autoscaler")
    other = tab(site)
    other.page.goto(page.url)
    expect(other.page.locator("[data-app]")).to_have_count(1)
    page.get_by_role("link", name="Clear").click()
    expect(page.locator("[data-app]")).to_have_count(3)


def test_every_filter_narrows_the_list(site: str, tab: Open) -> None:
    opened = tab(site)
    page = opened.open("/")
    names = [select.get_attribute("name") or "" for select in page.locator(".selects select").all()]
    assert {"severity", "cause", "sync"} <= set(names)
    for name in names:
        page = opened.open("/")
        page.locator(".more-filters > summary").click()
        select = page.locator(f"select[name={name}]")
        value = select.locator("option").nth(1).get_attribute("value") or ""
        text = select.locator("option").nth(1).inner_text()
        number = int(text.rpartition("(")[2].rstrip(")"))
        select.select_option(value)
        page.wait_for_url("**/?*")
        expect(page.locator("[data-app]")).to_have_count(number)
        expect(page.locator(f"select[name={name}]")).to_have_value(value)


def test_the_keyboard_is_enough(site: str, tab: Open) -> None:
    page = tab(site).open("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("a.app").first).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("a.app").nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_be_visible()
    assert "/apps/" in page.url


def test_a_change_appears_without_a_reload_and_keeps_what_is_open(tab: Open, tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(EXAMPLES / "autoscaler-loop", folder / "first")
    with served("--bundle", folder, "--no-proof") as address:
        opened = tab(address)
        page = opened.open("/")
        expect(page.locator("[data-app]")).to_have_count(1)
        expect(page.locator("#live")).to_have_text("live")
        page.locator(".more-filters > summary").click()
        page.evaluate("window.notReloaded = true")
        application = hostile_application("late")
        (folder / "first" / "applications" / "late.yaml").write_text(yaml.dump(application))
        expect(page.locator("[data-app]")).to_have_count(2)
        assert page.evaluate("window.notReloaded")
        assert page.locator(".more-filters").evaluate("part => part.open")
        expect(page.locator("#announcer")).to_have_text("2 apps need attention")
        page.locator("a.app", has_text="late").click()
        expect(page.locator("h1")).to_have_text("late")


def test_a_server_that_is_away_is_shown(tab: Open) -> None:
    with served("--bundle", EXAMPLES / "autoscaler-loop", "--no-proof") as address:
        opened = tab(address)
        page = opened.open("/")
        expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#live")).to_have_text("reconnecting")
    opened.problems.clear()  # the browser reports the connections that it lost


def test_hostile_values_stay_text(tab: Open, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(yaml.dump(hostile_application(HOSTILE)))
    with served("--bundle", tmp_path, "--no-proof") as address:
        opened = tab(address)
        page = opened.open("/?state=all")
        expect(page.locator("[data-app]")).to_have_count(1)
        paths = [page.locator("a.app").get_attribute("href") or "", "/incidents", "/incidents/1", "/sources"]
        for path in ("/", *paths, f"{paths[0]}/objects"):
            page = opened.open(path)
            expect(page.locator("h1")).to_be_visible()
            assert page.locator("img, main script").count() == 0, path
        expect(opened.open(paths[0]).locator("h1")).to_contain_text("<script>alert(1)</script>")
