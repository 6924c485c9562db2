"""Start-up time: whole processes, minus the time of a bare interpreter.

`python -m benchmarks.startup`
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.real_cluster.binaries import cache_directory

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples/deploy-key-rejected.yaml"
# Limits in seconds above a bare interpreter.
PROMISES = {
    "whysync --version": 0.15,
    "whysync --help": 0.15,
    "whysync diagnose, one app": 0.25,
}
COMMANDS = {
    "whysync --version": ["--version"],
    "whysync --help": ["--help"],
    "whysync diagnose, one app": ["diagnose", "--bundle", str(EXAMPLE)],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Processor time and wall-clock time of one process."""

    cpu: float
    wall: float

    def above(self, other: Cost) -> Cost:
        return Cost(cpu=max(self.cpu - other.cpu, 0.0), wall=max(self.wall - other.wall, 0.0))


def cost(*arguments: str, rounds: int = 7) -> Cost:
    """The minimum of several rounds: noise only adds time."""
    return cost_of([sys.executable, *arguments], rounds=rounds)


def cost_of(command: list[str], *, rounds: int) -> Cost:
    samples = [_once(command) for _ in range(rounds)]
    return Cost(cpu=min(sample.cpu for sample in samples), wall=min(sample.wall for sample in samples))


def _once(command: list[str]) -> Cost:
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(cpu=used.ru_utime + used.ru_stime, wall=wall)


def bare(rounds: int = 7) -> Cost:
    return cost("-c", "pass", rounds=rounds)


def of_command(name: str, rounds: int = 7) -> Cost:
    return cost("-m", "whysync", *COMMANDS[name], rounds=rounds)


def run() -> Iterator[tuple[str, str]]:
    yardstick = bare()
    yield "python -c pass (the yardstick)", f"{yardstick.wall:.3f} s, {yardstick.cpu:.3f} s of processor"
    for name, promised in PROMISES.items():
        above = of_command(name).above(yardstick)
        ratio = f"{above.cpu / yardstick.cpu:.1f} yardsticks" if yardstick.cpu else ""
        figure = f"+{above.wall:.3f} s, +{above.cpu:.3f} s of processor, {ratio} (promised +{promised} s)"
        yield name, figure
    yield from _argocd(yardstick)


def _argocd(yardstick: Cost) -> list[tuple[str, str]]:
    """The start of an `argocd` binary, if there is one in the path or in the cache of the suites."""
    program = shutil.which("argocd") or next(
        (str(path) for path in sorted(cache_directory().parent.glob("argocd-v*/argocd"))), None
    )
    if program is None:
        return [("argocd version --client", "not measured: there is no argocd binary")]
    ours = of_command("whysync --version")
    theirs = cost_of([program, "version", "--client"], rounds=7)
    faster = theirs.cpu / max(ours.cpu, 0.001)
    above = theirs.above(yardstick)
    figure = f"+{above.wall:.3f} s, +{above.cpu:.3f} s of processor, {faster:.1f} times whysync --version"
    return [("argocd version --client", figure)]


if __name__ == "__main__":
    for what, figure in run():
        print(f"{what}: {figure}")
