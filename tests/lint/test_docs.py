"""The guide names every check."""

from __future__ import annotations

from tests.situations import ROOT
from whysync.diagnosis.rule import Layer
from whysync.lint.check_tree import lint_rules


def table() -> str:
    lines = ["| check | severity | what is wrong |", "|---|---|---|"]
    for layer in Layer:
        for check in lint_rules():
            if check.layer is layer:
                lines.append(f"| `{check.id}` | {check.severity} | {check.title} |")
    return "\n".join(lines)


def test_the_guide_lists_lint_rules() -> None:
    assert table() in (ROOT / "docs/linting.md").read_text()
