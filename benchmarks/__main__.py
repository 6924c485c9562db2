"""Run all benchmarks: `make bench`. Each has a yardstick in the same run: compare ratios, not seconds."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import compare, diagnose, lint, plan, proofs, read_bundle, startup, sync

PARTS: tuple[tuple[str, Callable[[], list[tuple[str, str]]]], ...] = (
    ("Start-up", startup.run),
    ("A fleet, from a bundle to the list of causes", diagnose.run),
    ("Reading a bundle", read_bundle.run),
    ("Linting manifests", lint.run),
    ("A whole sync on the model", sync.run),
    ("A plan of a commit", plan.run),
    ("One app in trouble, fixes tried", proofs.run),
)


def main() -> None:
    for title, run in PARTS:
        print(f"\n{title}", flush=True)
        for label, figure in run():
            print(f"  {label:<48} {figure}", flush=True)
    print("\nComparing desired and live", flush=True)
    compare.main(1_000)


if __name__ == "__main__":
    main()
