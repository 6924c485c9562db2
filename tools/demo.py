"""A walk through the examples: one command a side, as a user would type it."""

from __future__ import annotations

import sys
from pathlib import Path

from whysync.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
WALK = (
    ("could not compare", "deploy-key-rejected.yaml"),
    ("compared, and differs", "autoscaler-loop"),
    ("applied, and failed", "migration-cannot-reach-database"),
    ("applied, but unhealthy", "settings-missing.yaml"),
    ("not fresh", "push-not-seen"),
)


def walk() -> int:
    worst = 0
    for title, name in WALK:
        bundle = f"examples/{name}"
        print(f"\n── {title} " + "─" * max(60 - len(title), 3))
        print(f"$ whysync diagnose --bundle {bundle}\n", flush=True)
        worst = max(worst, main(["diagnose", "--bundle", str(ROOT / bundle), "--exit-zero"]))
    bundles = [argument for _, name in WALK for argument in ("--bundle", str(ROOT / "examples" / name))]
    print("\n── all of them at once " + "─" * 40)
    print("$ whysync list --bundle …\n", flush=True)
    worst = max(worst, main(["list", *bundles, "--exit-zero"]))
    print("\nNext: whysync diagnose --bundle YOUR_DUMP.yaml   (in .venv/bin; see README.md)")
    return worst


if __name__ == "__main__":
    sys.exit(walk())
