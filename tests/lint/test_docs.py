"""The guide names every check."""

from __future__ import annotations

from tests.situations import ROOT
from whysync.manifests.check import Layer, all_checks


def table() -> str:
    lines = ["| check | severity | what is wrong |", "|---|---|---|"]
    for layer in Layer:
        for check in all_checks():
            if check.layer is layer:
                lines.append(f"| `{check.id}` | {check.severity} | {check.title} |")
    return "\n".join(lines)


def test_the_guide_lists_all_checks() -> None:
    assert table() in (ROOT / "docs/linting.md").read_text()
