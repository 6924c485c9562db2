"""Every verb that shows something shows it in every form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import ROOT
from whysync.cli.output_flags import FLEET_OUTPUTS, OUTPUTS
from whysync.diagnosis.rule import registry
from whysync.json_tree import fields, items
from whysync.kubernetes.api import yaml

BUNDLE = str(ROOT / "examples" / "migration-cannot-reach-database")


@pytest.mark.parametrize(
    ("verb", "format"),
    [
        *(((verb, "--exit-zero"), format) for verb in ("diagnose", "list") for format in FLEET_OUTPUTS),
        *((("get", "shop"), format) for format in OUTPUTS),
    ],
)
def test_facts_in_every_format(whysync: Whysync, verb: tuple[str, str], format: str) -> None:
    result = whysync(*verb, "--bundle", BUNDLE, "-o", format)
    assert result.code == 0
    assert "shop" in result.out


@pytest.mark.parametrize("format", OUTPUTS)
@pytest.mark.parametrize("name", ["hook-failed", None])
def test_rules_in_every_format(whysync: Whysync, name: str | None, format: str) -> None:
    result = whysync("explain", *([name] if name else []), "-o", format)
    assert result.code == 0
    assert "hook_failed" in result.out


def test_rules_as_data_are_all_of_them(whysync: Whysync) -> None:
    document = fields(json.loads(whysync("explain", "-o", "json").out))
    assert [fields(rule)["rule"] for rule in items(document["rules"])] == [rule.id for rule in registry()]
    assert yaml.load(whysync("explain", "-o", "yaml").out) == document


def test_get_as_markdown_holds_the_operation_and_each_resource(whysync: Whysync) -> None:
    out = whysync("get", "shop", "--bundle", BUNDLE, "-o", "markdown").out
    assert out.startswith("# argocd/shop\n")
    assert "- Operation: Failed one or more synchronization tasks completed unsuccessfully" in out
    assert "| batch | Job | production | shop-migrate | Failed |" in out


FORMATS = {
    "diagnose": ("text", "wide", "short", "markdown", "html", "json", "yaml"),
    "fix": ("text", "commands", "yaml", "json"),
}


def test_a_fix_that_destroys_something_is_never_marked_as_good(whysync: Whysync, tmp_path: Path) -> None:
    """The second fix removes a finalizer: in the simulation it helps, but it destroys the object."""
    folder = str(tmp_path / "bundle")
    whysync("lab", "run", "finalizer-stuck", "--bundle", folder, "-o", "name")
    for verb, formats in FORMATS.items():
        pick = ("--pick", "2") if verb == "fix" else ()
        for format in formats:
            out = whysync(verb, *pick, "--bundle", folder, "-o", format).out
            assert not re.search("(?<!not )proven", out), (verb, format)
            assert 'class="badge good">destructive' not in out
            assert "estroys" in out or format == "short"  # the first fix only
