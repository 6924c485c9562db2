"""Run all benchmarks: `make bench`. Each has a yardstick in the same run: compare ratios, not seconds.

With `--write` the results become docs/benchmarks.md; run that on an idle machine. `--large` adds a fleet of
10,000 apps, which takes minutes and 1.1 GB of disk.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import compare, diagnose, lint, plan, proofs, read_bundle, serve, startup, sync

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
Row = tuple[str, str]


class Part(NamedTuple):
    title: str
    about: str
    run: Callable[[], Iterator[Row]]


def parts(*, large: bool) -> tuple[Part, ...]:
    return (
        Part(
            "Start-up",
            "Complete processes with compiled bytecode, the fastest of seven, minus a bare interpreter. A"
            " test checks the limits with a margin of three. `diagnose` spends most of its time on"
            " loading modules ([0022](decisions/0022-where-time-and-memory-go.md)).",
            startup.run,
        ),
        Part(
            "A fleet",
            "Apps of 30 resources each, from a bundle of JSON files to the list of causes. One app in ten was"
            " changed by hand, one in fifty cannot be compared. Up to 1,000 apps in one process, in seconds"
            " of processor time; the yardstick is `json.loads` of the same files. 10,000 apps as the commands"
            " run them, with one process per core.",
            lambda: diagnose.run((*diagnose.SIZES, diagnose.LARGE) if large else diagnose.SIZES),
        ),
        Part("Reading a bundle", "From files to facts without secrets.", read_bundle.run),
        Part(
            "Comparing",
            "Desired and live objects, compared as in Argo CD, on one core; the same objects with"
            " gitops-engine where there is a Go to build it.",
            compare.run,
        ),
        Part(
            "Linting",
            "All checks, on one core, next to kubeconform, which only checks schemas.",
            lint.run,
        ),
        Part("A sync on the model", "The yardstick of plans and proofs.", sync.run),
        Part(
            "Plans",
            "`whysync plan` of plain manifests in six waves with two hooks, one Deployment in ten changed:"
            " three syncs.",
            plan.run,
        ),
        Part(
            "Proofs",
            "The whole command `whysync diagnose` of one app with one resource in twenty changed by hand,"
            " with all fixes tried and without.",
            proofs.run,
        ),
        Part(
            "Serving",
            "`whysync serve` on a server that speaks Argo CD's API: apps of 30 resources, 20 of which change"
            " each second, and 50 viewers who load the fleet and an app every two seconds. The process, its"
            " viewers and Argo CD share the cores. Memory must stay flat: compare the quarters.",
            lambda: serve.run_all(large=large),
        ),
    )


def main(arguments: list[str]) -> int:
    lines: list[str] = list(_head())
    failed: list[str] = []
    began = time.monotonic()
    for part in parts(large="--large" in arguments):
        print(f"\n{part.title} (after {time.monotonic() - began:.0f} s)", flush=True)
        rows: list[Row] = []
        try:
            for label, figure in part.run():
                print(f"  {label:<48} {figure}", flush=True)
                rows.append((label.strip(), figure))
        except Exception as problem:  # the other parts are measured nevertheless
            traceback.print_exc()
            failed.append(part.title)
            rows.append(("the rest", f"not measured: {type(problem).__name__}"))
        lines += ["", f"## {part.title}", "", part.about, "", "| what | measured |", "|---|---|"]
        lines += [f"| {label} | {figure} |" for label, figure in rows]
    print(f"\nmeasured in {time.monotonic() - began:.0f} s", flush=True)
    if "--write" in arguments:
        PAGE.write_text("\n".join([*lines, *_foot()]) + "\n")
        print(f"{PAGE} is written", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _head() -> Iterator[str]:
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    yield "# Benchmarks"
    yield ""
    yield "    make bench                 # measure and print"
    yield "    make bench WRITE=1         # also write this page, on an idle machine"
    yield ""
    yield (
        "Each result has a reference (the yardstick) from the same run. Compare ratios and growth with"
        " size, not seconds, which depend on the machine."
    )
    yield (
        f"This page is from one run with {cores} cores, Python {platform.python_version()}, and a load of"
        f" {load:.1f} at the start."
    )


def _foot() -> Iterator[str]:
    yield ""
    yield "## Single benchmarks"
    yield ""
    yield "    .venv/bin/python -m benchmarks.diagnose 250 500 1000"
    for name in ("startup", "read_bundle", "compare", "lint", "plan", "proofs", "sync"):
        yield f"    .venv/bin/python -m benchmarks.{name}"
    yield "    .venv/bin/python -m benchmarks.serve 1000 600      # apps, seconds"
    yield "    .venv/bin/python -m benchmarks.real_fleet 1000     # a real Argo CD, as for make test-argocd"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
