"""A unique value in every place that masking covers: none of them is in any output of any verb."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.cli.secrets import places
from tests.cli.secrets.minting import Mint
from tests.cli.secrets.scene import checkout, write_bundle
from tests.plan.shop import DEPLOYMENT, Shop
from whysync.cli.diff import OUTPUTS as DIFF_OUTPUTS
from whysync.cli.fix import OUTPUTS as FIX_OUTPUTS
from whysync.cli.lint import FORMATS as LINT_FORMATS
from whysync.cli.output_flags import OUTPUTS
from whysync.cli.plan import FORMATS as PLAN_FORMATS

AUDIT_OUTPUTS = ("text", "json", "yaml", "markdown")
HEALTH_OUTPUTS = ("text", "wide", "json", "yaml", "name")


def leaks(mint: Mint, outputs: dict[str, str]) -> list[str]:
    """Where a value is in an output; each place once, however many outputs show it."""
    first_output: dict[str, str] = {}
    for output, text in outputs.items():
        for value, location in mint.places.items():
            if value in text:
                first_output.setdefault(f"{value} of {location}", output)
    return [f"{output}: {location}" for location, output in first_output.items()]


def test_there_are_enough_places() -> None:
    templates = (
        *places.TEXTS,
        *places.BLOCKS,
        places.VALUES,
        places.SOURCE,
        places.POD,
        *places.ARGOCD_CM.values(),
        *places.NOTIFICATIONS.values(),
        *places.CONFIG_MAP.values(),
        *places.OBJECTS,
    )
    mint = Mint()
    for template in templates:
        mint.filled(template, "")
    assert len(mint.places) >= 350


def test_no_canary_is_collected_or_shown(whysync: Whysync, tmp_path: Path) -> None:
    mint, bundle = Mint(), tmp_path / "bundle"
    write_bundle(bundle, mint)
    assert whysync("collect", "--bundle", str(bundle), "-o", str(tmp_path / "out")).code == 0
    written = {str(path): path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert len(written) > 10
    assert leaks(mint, written) == []
    again = tmp_path / "again"
    assert whysync("collect", "--bundle", str(tmp_path / "out"), "-o", str(again)).code == 0
    for path, text in written.items():
        assert (again / Path(path).relative_to(tmp_path / "out")).read_text() == text
    verbs = {
        ("diagnose", "--no-proof"): OUTPUTS,
        ("get", "shop"): OUTPUTS,
        ("get", "broken"): OUTPUTS,
        ("diff", "shop"): DIFF_OUTPUTS,
        ("list",): OUTPUTS,
        ("audit",): AUDIT_OUTPUTS,
        ("fix", "shop", "--no-proof"): FIX_OUTPUTS,
        ("fix", "broken", "--no-proof"): FIX_OUTPUTS,
        ("health", "--app", "shop"): HEALTH_OUTPUTS,
    }
    outputs: dict[str, str] = {}
    for verb, formats in verbs.items():
        for format in formats:
            result = whysync(*verb, "--bundle", str(bundle), "-o", format)
            outputs[f"{' '.join(verb)} -o {format}"] = result.out + result.err
    assert sum(len(text) > 1000 for text in outputs.values()) > 20
    assert leaks(mint, outputs) == []


def test_no_canary_of_a_checkout_is_shown(
    whysync: Whysync, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mint = Mint()
    shop = checkout(tmp_path / "shop", mint)
    monkeypatch.chdir(shop.folder)
    out = tmp_path / "out"
    out.mkdir()
    outputs: dict[str, str] = {}
    for verb, formats in (("plan", PLAN_FORMATS), ("lint", LINT_FORMATS)):
        output_flags = [
            argument for format in formats for argument in ("-o", f"{format}={out / verb}-{format}")
        ]
        arguments = ["apps/shop", "--base", "main", "--no-proof"] if verb == "plan" else ["."]
        result = whysync(verb, *arguments, *output_flags)
        outputs[verb] = result.out + result.err
    outputs |= {path.name: path.read_text() for path in out.iterdir()}
    assert len(outputs) == 2 + len(PLAN_FORMATS) + len(LINT_FORMATS)
    assert len(outputs["plan-html"]) > 10_000
    assert leaks(mint, outputs) == []


@pytest.mark.parametrize("value", ["{a: Qz0001Kx9VwTr}", "[Qz0001Kx9VwTr]"])
def test_a_variable_whose_value_is_no_text_is_not_shown(
    whysync: Whysync, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    shop = Shop(tmp_path / "shop")
    env = f"env: [{{name: PASSWORD, value: {value}}}]"
    shop.put("deployment.yaml", DEPLOYMENT.replace('image: "shop:1.0"', f'image: "shop:1.1", {env}'))
    monkeypatch.chdir(shop.folder)
    for format in PLAN_FORMATS:
        result = whysync("plan", "apps/shop", "--base", "main", "--no-proof", "-o", format)
        assert result.out
        assert "Qz0001Kx9VwTr" not in result.out + result.err
