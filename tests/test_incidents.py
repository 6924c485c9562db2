"""The first line of the answer to incidents that were written by hand: it names the object and the reason.

`incidents.toml` has the expectations; the incidents are under ../shared and not part of a clone.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.shared import SHARED, needs_shared
from whysync.cli.main import main as whysync

INCIDENTS = SHARED / "reviews" / "incidents"
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("incidents.toml").read_text())
CONSISTENT = sorted(name for name, expected in EXPECTED.items() if "headline" in expected)


@needs_shared
def test_every_incident_has_an_expectation() -> None:
    assert {path.stem for path in INCIDENTS.rglob("*.yaml")} == set(EXPECTED)


@needs_shared
@pytest.mark.parametrize("name", CONSISTENT)
def test_the_first_line_names_the_object_and_the_reason(name: str) -> None:
    expected = EXPECTED[name]
    findings = _findings(next(INCIDENTS.rglob(f"{name}.yaml")))
    headline = findings[0]["verdict"] if findings else ""
    missing = [words for words in expected["headline"] if not re.search(words, headline)]
    assert not missing, headline
    fixes = [line for finding in findings for fix in finding["fixes"] for line in _lines(fix)]
    assert not [line for words in expected.get("never", ()) for line in fixes if re.search(words, line)]


def _findings(path: Path) -> list[dict[str, Any]]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        whysync(["diagnose", "--no-proof", "-o", "json", "--bundle", str(path)])
    (app,) = json.loads(out.getvalue())["apps"]
    return app["findings"]


def _lines(fix: dict[str, Any]) -> list[str]:
    return [fix["title"], *fix.get("commands", ())]
