"""`make demo`: a walk through the examples, without a cluster, that ends well."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.running import small_environment
from tests.situations import EXAMPLES, ROOT


def test_the_demo_walks_through_every_example() -> None:
    done = subprocess.run(
        [sys.executable, "tools/demo.py"],
        capture_output=True,
        cwd=ROOT,
        env=small_environment({"COLUMNS": "80"}),
        check=False,
        timeout=120,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for example in EXAMPLES:
        assert f"$ whysync diagnose --bundle examples/{example.name}\n" in done.stdout
    for side in ("could not compare", "compared, and differs", "applied, and failed", "not fresh"):
        assert f"── {side} ──" in done.stdout
    assert "5 of 5 need you" in done.stdout
    assert "Traceback" not in done.stdout


def test_every_example_has_its_line_in_the_readme_of_examples() -> None:
    text = (ROOT / "examples/README.md").read_text()
    for example in EXAMPLES:
        assert f"`{example.name}{'/' if example.is_dir() else ''}`" in text
