"""README and docs stay true: what they show is what the code prints, what they name is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.cli.running import process
from tests.golden import Golden
from tests.pages import (
    PAGES,
    Shown,
    code_named_on,
    links_of,
    paths_named_on,
    rewritten,
    shown_on,
    targets_named_on,
)
from tests.situations import ROOT
from whysync.cli.parser import parser

SOURCE = ROOT / "src/whysync"
ARCHITECTURE = ROOT / "docs/architecture.md"
ABOUT_THE_CODE = (
    ARCHITECTURE,
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs/adding-a-rule.md",
    *sorted(ROOT.glob("docs/decisions/*.md")),
    *sorted(SOURCE.rglob("README.md")),
)
OF_AN_EXAMPLE = re.compile(r"container_out_of_memory|limit_too_small|case/$")  # in adding-a-rule.md
SHOWN = [shown for page in PAGES for shown in shown_on(page)]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: f"{shown.page.name}: {shown.command}")
def test_a_page_shows_what_the_command_prints(shown: Shown, golden: Golden) -> None:
    result = process(*shown.arguments, environ={"COLUMNS": "80"})
    assert result.err == ""
    if golden.accept:
        shown.page.write_text(rewritten(shown.page, shown.command, result.out))
    else:
        assert shown.output == result.out, f"{shown.page.name} shows an old answer: make accept, and read it"


def test_the_readme_shows_a_real_answer() -> None:
    assert any(shown.page.name == "README.md" for shown in SHOWN)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    lost = [target for target in links_of(page) if not (page.parent / target).exists()]
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_exist(page: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets_named_on(page) <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_pages_are_commands(page: Path) -> None:
    """Every `whysync VERB --flag` that a page names is understood."""
    verbs = parser().verbs()
    for line in re.findall(r"(?:^|[`$|] ?)whysync ((?:[a-z]+)(?: [^`\n]*)?)", page.read_text(), re.MULTILINE):
        verb, *rest = line.split()
        if verb in verbs:
            parsers = (verbs[verb], *verbs[verb].verbs().values())
            flags = "".join(each.format_full_help() for each in parsers)
            unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in flags]
            assert unknown == [], line


@pytest.mark.parametrize("page", ABOUT_THE_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_functions_named_on_pages_exist(page: Path) -> None:
    roots = (ROOT, SOURCE, page.parent)
    paths = {path for path in paths_named_on(page) if not OF_AN_EXAMPLE.search(path)}
    assert {path for path in paths if not any((root / path).exists() for root in roots)} == set()
    for name in code_named_on(page):
        resolve_name(f"whysync.{name}")  # raises where there is no such name


def test_the_architecture_page_describes_every_package() -> None:
    described = set(re.findall(r"\*\*`([a-z_.]+)/?`\*\*", ARCHITECTURE.read_text()))
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages - described == set()


def test_the_architecture_page_states_the_layers_that_are_enforced() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers: list[str] = next(contract["layers"] for contract in contracts if contract["name"] == "Layers")
    stated = " > ".join(re.sub(r"whysync\.|[()]", "", layer) for layer in layers)
    assert stated in " ".join(ARCHITECTURE.read_text().split())
