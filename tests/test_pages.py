"""README and docs stay true: what they show is what the code prints, what they name is there."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from tests.cli.running import process
from tests.golden import Golden
from tests.pages import PAGES, Shown, links_of, rewritten, shown_on, targets_named_on
from tests.situations import ROOT
from whysync.cli.parser import Parser, parser

SHOWN = [shown for page in PAGES for shown in shown_on(page)]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: f"{shown.page.name}: {shown.command}")
def test_a_page_shows_what_the_command_prints(shown: Shown, golden: Golden) -> None:
    ran = process(*shown.arguments, environ={"COLUMNS": "80"})
    assert ran.err == ""
    if golden.accept:
        shown.page.write_text(rewritten(shown.page, shown.command, ran.out))
    else:
        assert shown.output == ran.out, f"{shown.page.name} shows an old answer: make accept, and read it"


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


def nested(verb: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return verb.verbs() if isinstance(verb, Parser) else {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_pages_are_commands(page: Path) -> None:
    """Every `whysync VERB --flag` that a page names is understood."""
    verbs = parser().verbs()
    for line in re.findall(r"(?:^|[`$|] ?)whysync ((?:[a-z]+)(?: [^`\n]*)?)", page.read_text(), re.MULTILINE):
        verb, *rest = line.split()
        if verb in verbs:
            flags = verbs[verb].format_help() + "".join(
                below.format_help() for below in nested(verbs[verb]).values()
            )
            unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in flags]
            assert unknown == [], line
