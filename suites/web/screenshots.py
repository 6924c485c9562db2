"""The screenshots of docs/serve.md: `python -m suites.web.screenshots` takes them of the demo."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import expect, sync_playwright

from suites.web.browser import chromium
from suites.web.server import served
from tests.situations import ROOT

FOLDER: Final = ROOT / "docs" / "images"
PAGES: Final = {"fleet": "/", "incidents": "/incidents", "app": "/apps/lab/argocd/shop"}
WIDTHS: Final = {390: 844, 820: 860, 1440: 700}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with served("--demo", "60") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        # the outbreak of the demo ends after 20 virtual minutes; shop fails in the third
        expect(page.locator("[data-app$='/shop']")).to_have_count(1, timeout=60_000)
        expect(page.locator(".rows.many [data-app]")).to_have_count(6, timeout=60_000)
        for name, path in PAGES.items():
            for width, height in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": height})
                page.goto(address + path)
                if name == "app":  # the sync has been simulated
                    expect(page.locator(".sync-now .badge")).to_be_visible(timeout=60_000)
                page.screenshot(path=FOLDER / f"serve-{name}-{width}.png")
        browser.close()


if __name__ == "__main__":
    main()
