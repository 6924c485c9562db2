"""`argocd app sync`, run on the world of a Case, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from whysync.argocd.server.server import Denied
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.report import ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.fixes.while_syncing import is_running
from whysync.json_tree import text
from whysync.kubernetes.controllers.controller_manager import ControllersNeverSettle
from whysync.kubernetes.timeline import TimelineNeverSettles
from whysync.proofs.observations import disagreement, no_comparison
from whysync.proofs.safety import SYNC_RUNS
from whysync.proofs.simulated_case import NotSimulated, SimulatedCase, simulated
from whysync.proofs.sync_effects import DriftAfterSync, drift_after_sync, effects_of
from whysync.proofs.sync_reasons import (
    RankedReason,
    damage_reasons,
    outcome,
    persistence_reasons,
    side_effect_reasons,
)

_LONGEST_SYNC: Final = timedelta(minutes=30)
_MOST_REASONS: Final = 6
_FAILING: Final = frozenset({ReasonKind.SYNC_FAILS, ReasonKind.SYNC_HANGS})
_DOUBTS: Final = frozenset(
    {ReasonKind.MODEL_DIFFERS, ReasonKind.OPERATOR_NOT_MODELED, ReasonKind.FACTS_MISSING}
)


def tried(case: Case, findings: Sequence[Finding]) -> Safety:
    try:
        return _tried(case, findings)
    except NotSimulated as problem:
        return Safety.unknown(ReasonKind.FACTS_MISSING, problem.gap.why)
    except (TimelineNeverSettles, ControllersNeverSettle) as problem:
        return Safety.unknown(
            ReasonKind.SIMULATION_FAILED, f"the model of this cluster never comes to rest ({problem})"
        )


def _tried(case: Case, findings: Sequence[Finding]) -> Safety:
    world = simulated(case, disable_auto_sync=not is_running(case), assume_repeats=False)
    since = len(world.simulation.api_server.store.journal)
    world.simulation.timeline.settle()
    if world.sync_and_health[0] not in ("Synced", "OutOfSync"):
        return Safety.unknown(
            ReasonKind.MODEL_DIFFERS,
            f"on the model Argo CD cannot compare the app: {no_comparison(world)}",
        )
    apart = disagreement(world)
    told: list[RankedReason] = []
    if is_running(case):
        told.append(
            RankedReason(
                kind=ReasonKind.SYNC_RUNNING,
                text=SYNC_RUNS,
                weight=66,
            )
        )
    else:
        since = len(world.simulation.api_server.store.journal)
        try:
            world.sync()
        except Denied as problem:
            why = str(problem).rpartition("desc = ")[2]
            return Safety.refused(why)
    ended = world.until(lambda: not world.is_operating, _LONGEST_SYNC)
    effects = effects_of(world, since)
    told += damage_reasons(world, effects)
    told += outcome(world, findings, ended=ended)
    result = DriftAfterSync()
    if text(world.operation.get("phase")) == "Succeeded":
        result = drift_after_sync(world)
        told += persistence_reasons(world, effects, result)
    told += side_effect_reasons(world, effects, result, sure=not apart)
    told += _doubts(world, apart)
    return _verdict(told)


def _verdict(told: list[RankedReason]) -> Safety:
    ranked = sorted(told, key=lambda one: -one.weight)
    if any(one.unsafe for one in ranked):
        sync = SyncSafety.UNSAFE
        ranked.sort(key=lambda one: not one.unsafe)
    elif any(one.unknown for one in ranked):
        sync = SyncSafety.UNKNOWN
        ranked.sort(key=lambda one: not one.unknown)
    else:
        sync = SyncSafety.SAFE
    reasons = tuple(one.reason for one in ranked[:_MOST_REASONS])
    return Safety(sync=sync, outcome=_outcome({one.kind for one in ranked}), reasons=reasons)


def _outcome(kinds: set[ReasonKind]) -> SyncOutcome:
    if kinds & _FAILING:
        return SyncOutcome.FAILS
    return SyncOutcome.UNKNOWN if kinds & _DOUBTS else SyncOutcome.SUCCEEDS


def _doubts(world: SimulatedCase, apart: Sequence[str]) -> Iterator[RankedReason]:
    """What the answer may hang on, and the facts lack."""
    for one in apart:
        yield RankedReason(kind=ReasonKind.MODEL_DIFFERS, text=one, unknown=True, weight=60)
    unseen = [gap.what for gap in world.scope.gaps]
    if unseen:
        more = f" and {len(unseen) - 2} more" if len(unseen) > 2 else ""
        listed = f"{', '.join(unseen[:2])}{more}"
        yield RankedReason(
            kind=ReasonKind.FACTS_MISSING,
            text=f"what it does to {listed} is not known: not among the facts",
            unknown=True,
            weight=60,
        )
