"""A commit that Argo CD has not seen yet: how long it takes without a refresh, and with one.

What the commit holds nobody has rendered. For this question that is no loss: one that changes nothing is seen
as soon as any other.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, Proof, ProofKind
from whysync.diagnosis.symptom import SymptomKind
from whysync.json_tree import fields, items
from whysync.proofs.apply_fix import Player
from whysync.proofs.observer import Observer
from whysync.proofs.verdicts import not_run, proven
from whysync.proofs.world import simulated

_LONGEST: Final = timedelta(hours=1)


def is_lag(case: Case, finding: Finding) -> bool:
    """Does it explain nothing but that the branch has moved on?"""
    kinds = {symptom.id: symptom.kind for symptom in case.symptoms}
    return bool(finding.explains) and all(
        kinds.get(explain) is SymptomKind.BEHIND for explain in finding.explains
    )


def seen_sooner(case: Case, finding: Finding, fix: Fix) -> Proof:
    """Raises `NotSimulated`, `Unplayable`, `Refuted` and `Restless`."""
    if finding.severity is not Severity.INFO:
        return not_run(
            ProofKind.FACTS_MISSING, "Argo CD should have seen it long ago: why it did not is not known"
        )
    if not fix.commands:
        return not_run(ProofKind.NO_EFFECT, "it does not make Argo CD look")
    by_itself, at_once = _until_seen(case, None), _until_seen(case, fix)
    if at_once is None or (by_itself is not None and at_once >= by_itself):
        return not_run(ProofKind.NO_EFFECT, "on the model it is not seen sooner with it")
    return proven(
        rounds=1,
        why="what that commit changes is not known yet",
        trace=(
            "without the fix",
            _told(by_itself, "it is seen by itself"),
            "with the fix",
            f"   +0:00  {fix.commands[0] if fix.commands else fix.title}",
            _told(at_once, "it is seen"),
        ),
    )


def _told(waited: timedelta | None, words: str) -> str:
    if waited is None:
        return "       …  it is not seen within an hour"
    seconds = int(waited.total_seconds())
    return f"  {f'+{seconds // 60}:{seconds % 60:02}':>6}  {words}"


def _until_seen(case: Case, fix: Fix | None) -> timedelta | None:
    world = simulated(case)
    commit = world.push(case.desired)
    watch = Observer(world)
    began = watch.now

    def is_seen() -> bool:
        told = fields(world.status.get("sync"))
        return commit in (told.get("revision"), *items(told.get("revisions")))

    if fix is not None:
        Player(watch).carry_out(fix)
    return watch.now - began if watch.run(_LONGEST, is_seen) else None
