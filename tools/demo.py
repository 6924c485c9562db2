"""Four short stories from the lab: each failure happens on a cluster in memory, then whysync diagnoses it."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from dataclasses import dataclass

from whysync.cli.main import main
from whysync.lab.library import names


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    title: str
    text: str
    scenario: str


STORIES = (
    Story(
        title="Argo CD cannot compare",
        text="The deploy key was rotated, but Argo CD still has the old one.",
        scenario="credentials-expired",
    ),
    Story(
        title="Git and the cluster differ, again and again",
        text="Git sets replicas: 1, an autoscaler sets 3, and self-heal undoes it each time.",
        scenario="hpa-loop",
    ),
    Story(
        title="A sync does not end",
        text="A StatefulSet of the first wave waits for a volume that nobody can provide.",
        scenario="wave-stalled",
    ),
    Story(
        title="The sync succeeded, but the app is Degraded",
        text="A refactoring dropped a Secret from Git, and pruning deleted it.",
        scenario="prune-gone-wrong",
    ),
)
NEXT = """
── What to try next ────────────────────────────────────────────────────────────
whysync is in .venv/bin. The first three commands need no cluster.

  whysync lab run hpa-loop               the second story with its timeline
  whysync lab list                       {more} more failures
  whysync diagnose --bundle examples/push-not-seen
  whysync diagnose APP                   an app of your own; whysync only reads
"""


def play(scenario: str) -> int:
    """Run a scenario to its end and keep its bundle. The timeline is left out: `whysync lab run` shows it."""
    print(f"$ whysync lab run {scenario} --bundle {scenario} > /dev/null")
    with contextlib.redirect_stdout(io.StringIO()):
        return main(["lab", "run", scenario, "--bundle", scenario, "--no-proof", "--exit-zero"])


def diagnose(scenario: str) -> int:
    print(f"$ whysync diagnose --bundle {scenario}", flush=True)
    return main(["diagnose", "--bundle", scenario, "--exit-zero"])


def demo() -> int:
    worst = 0
    with tempfile.TemporaryDirectory(prefix="whysync-demo-") as folder, contextlib.chdir(folder):
        for number, story in enumerate(STORIES, 1):
            print(f"\n{f'── {number}. {story.title} ':─<80}\n{story.text}\n")
            worst = max(worst, play(story.scenario), diagnose(story.scenario))
    print(NEXT.format(more=len(names()) - len(STORIES)), end="")
    return worst


if __name__ == "__main__":
    sys.exit(demo())
