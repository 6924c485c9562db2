"""What a person does with the pages: search, filter, keys, live updates, and facts that want to be markup."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from playwright.sync_api import expect

from suites.web.conftest import Open
from suites.web.server import served
from tests.situations import ROOT
from tests.web.test_pages import HOSTILE, hostile_application
from whysync.kubernetes.api import yaml

EXAMPLES = ROOT / "examples"
_REPOSITORY = "git@github.com:example/platform.git"
_NO_ACCESS = (
    "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown"
    " desc = failed to list refs: ssh: handshake failed: ssh: unable to authenticate,"
    " attempted methods [none publickey], no supported methods remain"
)


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


def test_places_filter_the_list_and_a_chosen_filter_can_be_removed(site: str, tab: Open) -> None:
    page = tab(site).open("/")
    expect(page.locator("[data-app]")).to_have_count(3)
    for title in ("Argo CD instances", "Clusters", "Projects"):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    place = page.locator(".where-panel section", has_text="Projects").locator("a").first
    number = int(place.locator(".numbers b").inner_text())
    place.click()
    page.wait_for_url("**/?project=*")
    expect(page.locator("[data-app]")).to_have_count(number)
    expect(page.locator(".where-panel a[aria-current]")).to_have_count(1)
    page.get_by_role("link", name="Remove filter project").click()
    expect(page.locator("[data-app]")).to_have_count(3)


def test_an_outbreak_is_one_card_with_its_number_of_apps(tab: Open, tmp_path: Path) -> None:
    for number in range(4):
        application = hostile_application(f"app-{number}")
        application["metadata"] = {"name": f"app-{number}", "namespace": "argocd", "labels": {"team": "shop"}}
        application["status"] = {
            "sync": {"status": "Unknown"},
            "health": {"status": "Healthy"},
            "conditions": [{"type": "ComparisonError", "message": _NO_ACCESS}],
        }
        application["spec"] = {
            "project": "default",
            "source": {"repoURL": _REPOSITORY, "path": f"apps/{number}", "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
        }
        (tmp_path / f"{number}.yaml").write_text(yaml.dump(application))
    with served("--bundle", tmp_path, "--no-proof") as address:
        page = tab(address).open("/?label=team%3Dshop")
        expect(page.locator("article.group h3")).to_have_text(re.compile(r"^4 apps: .*github\.com"))
        expect(page.locator(".rows.many [data-app]")).to_have_count(4)
        expect(page.locator("select[name=label]")).to_have_value("team=shop")


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


def test_an_update_keeps_the_focus_and_the_scrolling_and_waits_for_a_selection(
    tab: Open, tmp_path: Path
) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(EXAMPLES / "autoscaler-loop", folder / "first")
    with served("--bundle", folder, "--no-proof") as address:
        page = tab(address, width=700).open("/")
        page.locator("a.app").click()
        expect(page.locator("#live")).to_have_text("live")
        focused = page.locator(".evidence summary").nth(1)
        focused.focus()
        page.keyboard.press("Enter")
        page.evaluate("for (const part of document.querySelectorAll('#main > *')) part.dataset.old = 'yes'")
        page.evaluate("scrollTo(0, 400)")
        file = folder / "first" / "applications" / "my-api-service.yaml"
        file.write_text(file.read_text().replace("status: Healthy", "status: Suspended", 1))
        expect(page.locator(".app-head .badge", has_text="Suspended")).to_be_visible()
        expect(page.locator("#main > [data-old]")).to_have_count(0)  # all of it was replaced
        expect(page.locator(".evidence summary").nth(1)).to_be_focused()
        assert page.locator(".evidence details").nth(1).evaluate("part => part.open")
        assert page.evaluate("scrollY") == 400
        page.evaluate("getSelection().selectAllChildren(document.querySelector('.headline'))")
        file.write_text(file.read_text().replace("status: Suspended", "status: Missing", 1))
        page.wait_for_timeout(4_000)  # longer than a poll and an update
        assert page.evaluate("getSelection().toString()")
        page.evaluate("getSelection().removeAllRanges()")
        expect(page.locator(".app-head .badge", has_text="Missing")).to_be_visible()


def test_a_fleet_that_changes_all_the_time_does_not_keep_a_page_old(site: str, tab: Open) -> None:
    """Ten events a second: the page fetches itself again, but not for each of them."""
    opened = tab(site)
    opened.page.add_init_script(
        "window.EventSource = class extends EventTarget {"
        " constructor() { super(); setInterval(() => this.dispatchEvent("
        " new MessageEvent('app', {data: '{}', lastEventId: '1'})), 100); }"
        " close() {} };"
    )
    fetched: list[str] = []
    opened.page.on(
        "request", lambda request: fetched.append(request.url) if request.resource_type == "fetch" else None
    )
    opened.open("/").wait_for_timeout(4_000)
    assert 2 <= len(fetched) <= 5


def test_parts_of_an_app_are_linked_and_a_link_to_one_shows_it(site: str, tab: Open) -> None:
    opened = tab(site)
    page = opened.open("/?q=autoscaler")
    page.locator("a.app").click()
    page.get_by_role("navigation", name="On this page").get_by_role("link", name="Differences").click()
    expect(page.get_by_role("heading", name="Differences")).to_be_in_viewport()
    assert page.url.endswith("#diff")
    other = tab(site)
    other.page.goto(page.url)
    expect(other.page.get_by_role("heading", name="Differences")).to_be_in_viewport()
    top = other.page.locator("#diff").evaluate("part => part.getBoundingClientRect().top")
    bar = other.page.locator("body > header").evaluate("part => part.getBoundingClientRect().bottom")
    assert top >= bar, "the heading is not below the header"


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
