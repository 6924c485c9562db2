"""A short tour of the lab: failures that are made to happen on a cluster in memory, and diagnosed."""

from __future__ import annotations

import sys

from whysync.cli.main import main

TOUR = (
    ("compared, and differs", "hpa-loop"),
    ("applied, and failed", "migration-dead-database"),
    ("applied, and hangs", "hook-waits-for-later-wave"),
    ("applied, but unhealthy", "prune-gone-wrong"),
)


def tour() -> int:
    worst = 0
    for title, name in TOUR:
        print(f"\n── {title} " + "─" * max(60 - len(title), 3))
        print(f"$ whysync lab run {name}\n", flush=True)
        worst = max(worst, main(["lab", "run", name, "--exit-zero"]))
    print("\n── and many more " + "─" * 46)
    print("$ whysync lab list\n", flush=True)
    worst = max(worst, main(["lab", "list"]))
    print("\nNext: whysync lab run NAME; whysync diagnose --bundle YOUR_DUMP.yaml   (in .venv/bin)")
    return worst


if __name__ == "__main__":
    sys.exit(tour())
