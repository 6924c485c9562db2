"""Do the tests notice small mistakes? The score of each module, and what survived.

usage: python -m tools.mutants [--sample N] [--seed WORD] [--only NAME]... [rules | proofs | diagnosis]
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass

from tools.mutants.making import Mutant, mutants, sample
from tools.mutants.plans import Plan, plans
from tools.mutants.trying import Fate, fate


@dataclass(slots=True)
class Score:
    tried: int = 0
    noticed: int = 0

    def __str__(self) -> str:
        share = 100 * self.noticed / self.tried if self.tried else 100
        return f"{self.noticed:4} of {self.tried:4} noticed, {share:3.0f} %"


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser(
        prog="python -m tools.mutants", description="Do the tests notice small mistakes?"
    )
    asked.add_argument("part", nargs="?", choices=("rules", "proofs", "diagnosis"), help="one part only")
    asked.add_argument("--sample", type=int, default=6, metavar="N", help="so many of each module (0: all)")
    asked.add_argument("--only", action="append", default=[], metavar="NAME", help="modules of these names")
    asked.add_argument("--seed", default="", metavar="WORD", help="another sample than the usual one")
    chosen = asked.parse_args(arguments)
    total, red = Score(), False
    for plan in plans():
        if chosen.part and f".{chosen.part}." not in plan.module:
            continue
        if chosen.only and plan.path.stem not in chosen.only:
            continue
        score = _tried(plan, chosen.sample, seed=f"{plan.module}{chosen.seed}")
        if score is None:
            red = True
            continue
        total.tried += score.tried
        total.noticed += score.noticed
    print(f"{total}  in all")
    return 1 if red else 0


def _tried(plan: Plan, size: int, *, seed: str) -> Score | None:
    original = plan.path.read_text()
    if _fate(plan, original) is not Fate.SURVIVED:
        print(f"{plan.module}: its tests fail without any mutant")
        return None
    found = mutants(original)
    chosen = sample(found, size, seed=seed) if size else found
    survivors = [mutant for mutant in chosen if _fate(plan, mutant.source) is Fate.SURVIVED]
    score = Score(len(chosen), len(chosen) - len(survivors))
    print(f"{score}  {plan.module}")
    for mutant in survivors:
        print(_told(plan, mutant, original))
    sys.stdout.flush()
    return score


def _fate(plan: Plan, source: str) -> Fate:
    sys.stdout.flush()
    return fate(plan.module, source, forget=plan.forget, passes=plan.passes, seconds=plan.seconds)


def _told(plan: Plan, mutant: Mutant, original: str) -> str:
    place = os.path.relpath(plan.path)
    lines = "\n".join(f"    {line}" for line in mutant.diff(original).splitlines())
    return f"  {place}:{mutant.line} ({mutant.kind})\n{lines}"


if __name__ == "__main__":
    sys.exit(main())
