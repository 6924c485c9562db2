"""Run the tests under coverage, then print the totals and the least covered modules.

The tests of start-up time are left out: they measure what coverage slows down, and which modules are loaded.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 15
SMALL = 10  # smaller modules are not listed
REPORT = ROOT / "coverage.json"
COVERAGE = (sys.executable, "-m", "coverage")
TESTS = ("run", "-m", "pytest", "-n", "2", "tests", "--ignore", "tests/test_startup.py")


class Summary(TypedDict):
    """Counts of coverage's JSON report for a file or in total; percentages are computed from counts."""

    num_statements: int
    covered_lines: int
    num_branches: int
    covered_branches: int


class File(TypedDict):
    summary: Summary


class Report(TypedDict):
    files: dict[str, File]
    totals: Summary


def percent(part: int, total: int) -> float:
    return 100.0 if total == 0 else 100 * part / total


def row(name: str, summary: Summary) -> str:
    lines = percent(summary["covered_lines"], summary["num_statements"])
    branches = percent(summary["covered_branches"], summary["num_branches"])
    return f"{lines:6.1f}%  {branches:8.1f}%  {summary['num_statements']:10}  {name}"


def together(summary: Summary) -> float:
    """Lines and branches as one percentage, as coverage computes it."""
    return percent(
        summary["covered_lines"] + summary["covered_branches"],
        summary["num_statements"] + summary["num_branches"],
    )


def text(report: Report) -> str:
    rows = [
        (name, file["summary"])
        for name, file in report["files"].items()
        if file["summary"]["num_statements"] >= SMALL
    ]
    least = sorted(rows, key=lambda entry: (together(entry[1]), entry[0]))[:SHOWN]
    return "\n".join(
        [
            f"The {len(least)} least covered modules:",
            "  lines  branches  statements",
            *(row(name, summary) for name, summary in least),
            row("total", report["totals"]),
        ]
    )


def main() -> int:
    subprocess.run([*COVERAGE, "erase"], cwd=ROOT, check=True)
    tests = subprocess.run([*COVERAGE, *TESTS, *sys.argv[1:]], cwd=ROOT, check=False).returncode
    subprocess.run([*COVERAGE, "combine", "--quiet"], cwd=ROOT, check=True)
    subprocess.run([*COVERAGE, "json", "--quiet", "-o", str(REPORT)], cwd=ROOT, check=True)
    report: Report = json.loads(REPORT.read_text())
    print(text(report))
    if tests:
        print("some tests failed: the figures are of this run", file=sys.stderr)
    return tests


if __name__ == "__main__":
    sys.exit(main())
