"""Prove that a fix makes Argo CD see a new commit sooner: the time is measured with and without it."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.fix import Fix, Proof, ProofKind
from whysync.json_tree import fields, items
from whysync.proofs.apply_fix import FixRunner
from whysync.proofs.observations import Observer
from whysync.proofs.proof_results import not_run, proven
from whysync.proofs.simulated_case import simulated

_MAX_WAIT: Final = timedelta(hours=1)


def verify_refresh(case: Case, finding: Finding, fix: Fix) -> Proof:
    """Raises `NotSimulated`, `NotExecutable`, `StepRefused` and `NeverSettles`."""
    if finding.severity is not Severity.INFO:
        return not_run(
            ProofKind.FACTS_MISSING,
            "Argo CD should have detected the commit already; why it did not is not known",
        )
    if not fix.commands:
        return not_run(ProofKind.NO_EFFECT, "it does not trigger a refresh")
    without_fix, with_fix = _time_until_seen(case, None), _time_until_seen(case, fix)
    if with_fix is None or (without_fix is not None and with_fix >= without_fix):
        return not_run(ProofKind.NO_EFFECT, "in the simulation the commit is not detected sooner")
    return proven(
        rounds=1,
        why="what that commit changes is not known yet",
        trace=(
            "without the fix",
            _timeline_entry(without_fix, "the commit is detected without the fix"),
            "with the fix",
            f"   +0:00  {fix.commands[0] if fix.commands else fix.title}",
            _timeline_entry(with_fix, "the commit is detected"),
        ),
    )


def _timeline_entry(elapsed: timedelta | None, event: str) -> str:
    if elapsed is None:
        return "       …  the commit is not detected within an hour"
    seconds = int(elapsed.total_seconds())
    return f"  {f'+{seconds // 60}:{seconds % 60:02}':>6}  {event}"


def _time_until_seen(case: Case, fix: Fix | None) -> timedelta | None:
    """How long Argo CD takes to compare with a new commit; `None` if it does not within `_MAX_WAIT`."""
    world = simulated(case)
    commit = world.push(case.desired)
    observer = Observer(world)
    started_at = observer.now

    def commit_seen() -> bool:
        sync = fields(world.status.get("sync"))
        return commit in (sync.get("revision"), *items(sync.get("revisions")))

    if fix is not None:
        FixRunner(observer).apply(fix)
    return observer.now - started_at if observer.run(_MAX_WAIT, commit_seen) else None
