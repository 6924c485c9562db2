"""`make demo`: a tour of the lab, without a cluster, that ends well."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.running import small_environment
from tests.situations import EXAMPLES, ROOT


def test_the_demo_is_a_tour_of_the_lab() -> None:
    done = subprocess.run(
        [sys.executable, "tools/demo.py"],
        capture_output=True,
        cwd=ROOT,
        env=small_environment({"COLUMNS": "80"}),
        check=False,
        timeout=300,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("hpa-loop", "migration-dead-database", "hook-waits-for-later-wave", "prune-gone-wrong"):
        assert f"$ whysync lab run {name}\n" in done.stdout
    for said in (
        "holds 3 replicas, Git asks for 1",
        "connection refused to 10.0.1.45:5432",
        "which is made only later (Sync, wave 0)",
        "which the last sync pruned",
    ):
        assert said in " ".join(done.stdout.split())
    for side in ("compared, and differs", "applied, and failed", "applied, and hangs"):
        assert f"── {side} ──" in done.stdout
    assert "wave-stalled" in done.stdout, "the list of all scenarios"
    assert "Traceback" not in done.stdout


def test_every_example_has_its_line_in_the_readme_of_examples() -> None:
    text = (ROOT / "examples/README.md").read_text()
    for example in EXAMPLES:
        assert f"`{example.name}{'/' if example.is_dir() else ''}`" in text
