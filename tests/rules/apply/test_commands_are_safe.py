"""What came from a cluster stays a word in a command: it is quoted, and never starts a line of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rules.bench import BUNDLES, case_name, findings_of, load_case, rule_for

OWN = [folder for folder in BUNDLES if folder.parts[-3] in ("compare", "apply")]
# What a name in a hostile bundle may hold (no braces: cases write maps in one line); it stands for `shop`.
HOSTILE = "x$(touch$IFS.p)y"


def _hostile(folder: Path, to: Path) -> Path:
    case = folder / "case"
    sources = sorted(case.rglob("*.yaml")) if case.is_dir() else [folder / "case.yaml"]
    for source in sources:
        target = to / "case" / source.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(source.read_text().replace("shop", HOSTILE).replace("production", f"p{HOSTILE}"))
    return to


def _runs(command: str) -> str:
    """The part of a command that a shell would look at: without what is quoted, and without remarks."""
    bare = re.sub(r"'[^']*'", "", command)
    return re.sub(r"(^|\s)#.*", "", bare)


@pytest.mark.parametrize("folder", OWN, ids=case_name)
def test_hostile_names_stay_words(folder: Path, tmp_path: Path) -> None:
    rule = rule_for(folder)
    for finding in findings_of(rule, load_case(_hostile(folder, tmp_path))):
        for command in (command for fix in finding.fixes for command in fix.commands):
            assert "\n" not in command
            assert "$(" not in _runs(command), command
