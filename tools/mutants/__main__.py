"""Mutation testing: the score of each module, and the mutants that survived.

usage: python -m tools.mutants [--sample N] [--seed WORD] [--only NAME]... [rules | proofs | queries]
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass

from tools.mutants.mutants import Mutant, mutants, sample
from tools.mutants.plans import Plan, plans
from tools.mutants.run_mutant import Outcome, run_mutant


@dataclass(slots=True)
class Score:
    total: int = 0
    killed: int = 0

    def __str__(self) -> str:
        share = 100 * self.killed / self.total if self.total else 100
        return f"{self.killed:4} of {self.total:4} killed, {share:3.0f} %"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description="Mutation testing.")
    parser.add_argument("package", nargs="?", choices=("rules", "proofs", "queries"), help="one package only")
    parser.add_argument("--sample", type=int, default=6, metavar="N", help="mutants per module (0: all)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="modules with these names"
    )
    parser.add_argument("--seed", default="", metavar="WORD", help="use another sample")
    options = parser.parse_args(arguments)
    total, failed = Score(), False
    for plan in plans():
        if options.package and f".{options.package}." not in plan.module:
            continue
        if options.only and plan.path.stem not in options.only:
            continue
        score = _score(plan, options.sample, seed=f"{plan.module}{options.seed}")
        if score is None:
            failed = True
            continue
        total.total += score.total
        total.killed += score.killed
    print(f"{total}  in total")
    return 1 if failed else 0


def _score(plan: Plan, size: int, *, seed: str) -> Score | None:
    original = plan.path.read_text()
    if _outcome(plan, original) is not Outcome.SURVIVED:
        print(f"{plan.module}: its tests fail without any mutant")
        return None
    candidates = mutants(original)
    chosen = sample(candidates, size, seed=seed) if size else candidates
    survivors = [mutant for mutant in chosen if _outcome(plan, mutant.source) is Outcome.SURVIVED]
    score = Score(len(chosen), len(chosen) - len(survivors))
    print(f"{score}  {plan.module}")
    for mutant in survivors:
        print(_survivor_text(plan, mutant, original))
    sys.stdout.flush()
    return score


def _outcome(plan: Plan, source: str) -> Outcome:
    sys.stdout.flush()
    return run_mutant(plan.module, source, reload=plan.reload, passes=plan.passes, seconds=plan.seconds)


def _survivor_text(plan: Plan, mutant: Mutant, original: str) -> str:
    path = os.path.relpath(plan.path)
    lines = "\n".join(f"    {line}" for line in mutant.diff(original).splitlines())
    return f"  {path}:{mutant.line} ({mutant.kind})\n{lines}"


if __name__ == "__main__":
    sys.exit(main())
