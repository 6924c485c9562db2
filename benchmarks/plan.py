"""Speed and growth of `plan` on two clusters: an empty one, and one with the base.

`python -m benchmarks.plan [RESOURCES…]`
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.sync import APPLICATION, manifests_of, play
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.yaml import dump
from whysync.plan.checkout import open_checkout
from whysync.plan.plan import Plan
from whysync.plan.planner import plan

SIZES = (50, 200, 2_000)
CHANGED = 10
"""One in so many Deployments gets a new image."""


def run(sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[str, str]]:
    """Plain manifests, so that nothing is rendered; the yardstick is one sync of the app."""
    smallest = 0.0
    _measured(20)  # warm up
    for size in sizes:
        took, processor, yardstick = _measured(size)
        each = processor / size
        smallest = smallest or each
        ratio = f"{processor / yardstick:.1f} times one sync of it"
        figure = f"{took:6.2f} s, {processor:.2f} s of processor in all processes: {ratio}"
        yield f"plan of {size} resources", f"{figure}; a resource costs {each / smallest:.2f}"


def _measured(size: int) -> tuple[float, float, float]:
    """Seconds, those of the processor, and those of one sync of the app."""
    manifests = manifests_of(size)
    with tempfile.TemporaryDirectory() as folder:
        repository(Path(folder), manifests)
        gc.collect()
        gc.disable()  # as the command does
        started, processor = time.perf_counter(), _processor()
        plan = planned(folder)
        took, processor = time.perf_counter() - started, _processor() - processor
    assert [app.name for app in plan.apps] == ["argocd/shop"]
    assert all(run.passed for run in plan.apps[0].runs), plan.apps[0].runs
    assert len(plan.apps[0].runs) == 2
    started = time.process_time()
    play(manifests)
    yardstick = time.process_time() - started
    gc.enable()
    return took, processor, yardstick


def _processor() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def planned(folder: str) -> Plan:
    with open_checkout(folder, base="main") as checkout:
        return plan(checkout)


def repository(root: Path, manifests: list[Object]) -> None:
    """A repository with one commit, and changes in the work tree."""
    _git(root, "init", "--quiet", "--initial-branch", "main")
    _git(root, "remote", "add", "origin", "https://git.example.com/shop.git")
    (root / "shop").mkdir()
    (root / "app.yaml").write_text(dump(APPLICATION))
    _write(root, manifests)
    _git(root, "add", ".")
    _git(root, "-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-qm", "base")
    for number, deployment in enumerate(
        manifest for manifest in manifests if manifest["kind"] == "Deployment"
    ):
        if number % CHANGED == 0:
            spec = fields(fields(fields(deployment["spec"])["template"])["spec"])
            spec["containers"] = [{"name": "main", "image": "registry.example.com/shop:2"}]
    _write(root, manifests)


def _write(root: Path, manifests: list[Object]) -> None:
    for number in range(0, len(manifests), 20):
        text = "---\n".join(map(dump, manifests[number : number + 20]))
        (root / "shop" / f"part-{number:04}.yaml").write_text(text)


def _git(root: Path, *command: str) -> None:
    subprocess.run(["git", "-C", str(root), *command], check=True, capture_output=True)


def main() -> None:
    for label, figure in run(tuple(int(size) for size in sys.argv[1:]) or SIZES):
        print(f"{label:<24} {figure}", flush=True)


if __name__ == "__main__":
    main()
