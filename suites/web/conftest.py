"""One browser for the whole run, and a server with the examples."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from suites.web.browser import NotAvailable, axe_script, chromium
from suites.web.server import served
from tests.situations import ROOT

EXAMPLES = ("autoscaler-loop", "migration-cannot-reach-database", "push-not-seen")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        program = chromium()
    except NotAvailable as problem:
        pytest.fail(str(problem))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    try:
        return axe_script()
    except NotAvailable as problem:
        pytest.fail(str(problem))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The examples, as parts of one Argo CD instance."""
    folder = tmp_path_factory.mktemp("fleet")
    bundles = [folder / name for name in EXAMPLES]
    for bundle in bundles:
        shutil.copytree(ROOT / "examples" / bundle.name, bundle)
    parts = [part for bundle in bundles for part in ("--bundle", bundle)]
    with served("--instance", "examples", *parts) as address:
        yield address


class Tab:
    """A page of the browser that remembers errors and requests to other servers."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(30_000)
        self.address = address
        self.problems: list[str] = []
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on(
            "dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss())[1]
        )
        self.page.on("request", lambda request: self._on_request(request.url))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def _on_request(self, url: str) -> None:
        if not url.startswith(self.address):
            self.problems.append(f"request to {url}")

    def open(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page


Open = Callable[..., Tab]


@pytest.fixture
def tab(browser: Browser) -> Iterator[Open]:
    """Opens tabs; at the end none of them may have had a problem."""
    contexts: list[BrowserContext] = []
    tabs: list[Tab] = []

    def new(address: str, *, width: int = 1280, dark: bool = False, script: bool = True) -> Tab:
        context = browser.new_context(
            viewport={"width": width, "height": 860},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
        )
        contexts.append(context)
        tabs.append(Tab(context, address))
        return tabs[-1]

    yield new
    problems = [problem for tab in tabs for problem in tab.problems]
    for context in contexts:
        context.close()
    assert problems == []


def write_folder(source: Path, target: Path) -> None:
    shutil.copytree(source, target, dirs_exist_ok=True)
