"""Run `argocd app sync` in a simulation of a Case and decide whether it is safe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from whysync.argocd.server.server import Denied
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding
from whysync.diagnosis.report import ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptoms import needs_pruning
from whysync.fixes.while_syncing import is_running
from whysync.json_tree import text
from whysync.kubernetes.timeline import NeverSettles
from whysync.proofs.observations import disagreement, without_effect
from whysync.proofs.required_facts import NotSimulated
from whysync.proofs.simulated_case import SimulatedCase, simulated
from whysync.proofs.sync_effects import DriftAfterSync, drift_after_sync, effects_of
from whysync.proofs.sync_reasons import (
    RankedReason,
    damage_reasons,
    no_effect_reasons,
    outcome,
    persistence_reasons,
    side_effect_reasons,
)
from whysync.proofs.sync_safety import running_text
from whysync.queries.deletion_cost import deletion_cost
from whysync.queries.sync_options import LOST_WITH

_MAX_SYNC_TIME: Final = timedelta(minutes=30)
_MAX_REASONS: Final = 6
_IGNORE_RULE: Final = "ignore-rule-miss"
_STALE: Final = "stale-state"
_FAILING: Final = frozenset({ReasonKind.SYNC_FAILS, ReasonKind.SYNC_HANGS})
_DOUBTS: Final = frozenset(
    {
        ReasonKind.MODEL_DIFFERS,
        ReasonKind.OPERATOR_NOT_MODELED,
        ReasonKind.FACTS_MISSING,
        ReasonKind.FAILED_BEFORE,
    }
)


def simulated_safety(case: Case, findings: Sequence[Finding]) -> Safety:
    try:
        return _simulated_safety(case, findings)
    except NotSimulated as problem:
        return Safety.unknown(ReasonKind.FACTS_MISSING, f"{problem.gap.why}{_lost_by_pruning(case)}")
    except NeverSettles as problem:
        return Safety.unknown(ReasonKind.SIMULATION_FAILED, f"the simulation does not settle ({problem})")


def _lost_by_pruning(case: Case) -> str:
    """What would be deleted by a prune, data first; Argo CD reports that also without the manifests."""
    rows = [row.ref for row in case.app.status.resources if needs_pruning(case, row)]
    holding = [ref for ref in rows if ref.kind in LOST_WITH]
    if not rows or case.has_sync_option("Prune=false"):
        return ""
    if not holding:
        return f"; with --prune it deletes {listed(rows)}"
    lost = dict.fromkeys(deletion_cost(case, ref) or LOST_WITH[ref.kind] for ref in holding)
    return f"; with --prune it deletes {listed(holding)}: {', '.join(lost)}"


def _explains_equal(finding: Finding) -> bool:
    """Does it explain a resource that is OutOfSync although nothing differs?"""
    stale = finding.cause == _STALE and finding.confidence is not Confidence.LOW
    return stale or finding.cause == _IGNORE_RULE


def _simulated_safety(case: Case, findings: Sequence[Finding]) -> Safety:
    world = simulated(case, disable_auto_sync=not is_running(case), assume_repeats=False)
    since = len(world.simulation.api_server.store.journal)
    world.simulation.timeline.settle()
    if world.sync_and_health[0] not in ("Synced", "OutOfSync"):
        return Safety.unknown(
            ReasonKind.MODEL_DIFFERS,
            "the objects in the facts are not complete enough to compare them",
        )
    remnants = {finding.about.key for finding in findings if _explains_equal(finding)}
    disagreements = disagreement(world, remnants)
    equal = without_effect(world)
    reasons: list[RankedReason] = []
    if is_running(case):
        reasons.append(
            RankedReason(
                kind=ReasonKind.SYNC_RUNNING,
                text=running_text(case),
                weight=66,
            )
        )
    else:
        since = len(world.simulation.api_server.store.journal)
        try:
            world.sync()
        except Denied as problem:
            why = problem.description
            return Safety.refused(why)
    ended = world.until(lambda: not world.is_operating, _MAX_SYNC_TIME)
    effects = effects_of(world, since)
    reasons += damage_reasons(world, effects)
    reasons += outcome(world, findings, ended=ended)
    result = DriftAfterSync()
    if text(world.operation.get("phase")) == "Succeeded":
        result = drift_after_sync(world)
        reasons += persistence_reasons(world, effects, result)
        reasons += no_effect_reasons(equal)
    reasons += side_effect_reasons(world, effects, result, sure=not disagreements)
    reasons += doubts_of(world, disagreements)
    return verdict_of(case, reasons)


def _with_self_heal(case: Case, ranked: list[RankedReason]) -> list[RankedReason]:
    """Self-heal does the damage too: not to sync does not prevent it."""
    damage = sum(reason.unsafe for reason in ranked)
    operation = case.operation
    failed = operation is not None and operation.phase in ("Failed", "Error")  # then auto-sync has given up
    loops = any(reason.kind is ReasonKind.SYNC_LOOP for reason in ranked)  # which says it
    if not damage or loops or failed or is_running(case) or not case.self_heals or not _drifted(case):
        return ranked
    words = "self-heal is on, so Argo CD does this by itself"
    reason = RankedReason(kind=ReasonKind.SELF_HEALS, text=words)
    return [*ranked[:damage], reason, *ranked[damage:]]


def _drifted(case: Case) -> bool:
    """Is something OutOfSync that a sync without prune writes?"""
    rows = case.app.status.resources
    return any(row.status == "OutOfSync" and not row.requires_pruning and not row.hook for row in rows)


def verdict_of(case: Case, reasons: list[RankedReason]) -> Safety:
    """The verdict that follows from the reasons, with the most important ones first."""
    kinds = {reason.kind for reason in reasons}
    if ReasonKind.MODEL_DIFFERS in kinds:  # then the simulated update is not what a sync would do
        reasons = [reason for reason in reasons if reason.kind is not ReasonKind.UPDATES]
    if ReasonKind.DOES_NOT_HELP in kinds:  # which implies it
        reasons = [reason for reason in reasons if reason.kind is not ReasonKind.CHANGES_NOTHING]
    ranked = sorted(reasons, key=lambda reason: -reason.weight)
    if any(reason.unsafe for reason in ranked):
        sync = SyncSafety.UNSAFE
        ranked.sort(key=lambda reason: not reason.unsafe)
    elif any(reason.unknown for reason in ranked):
        sync = SyncSafety.UNKNOWN
        ranked.sort(key=lambda reason: not reason.unknown)
    else:
        sync = SyncSafety.SAFE
    ranked = _with_self_heal(case, ranked)
    shown = tuple(ranked_reason.reason for ranked_reason in ranked[:_MAX_REASONS])
    return Safety(sync=sync, outcome=_outcome(kinds), reasons=shown)


def _outcome(kinds: set[ReasonKind]) -> SyncOutcome:
    if kinds & _FAILING:
        return SyncOutcome.FAILS
    return SyncOutcome.UNKNOWN if kinds & _DOUBTS else SyncOutcome.SUCCEEDS


def doubts_of(world: SimulatedCase, disagreements: Sequence[str]) -> Iterator[RankedReason]:
    """Reasons why the verdict may be wrong: disagreements with Argo CD, and missing facts."""
    for disagreement_text in disagreements:
        yield RankedReason(kind=ReasonKind.MODEL_DIFFERS, text=disagreement_text, unknown=True, weight=60)
    missing = [gap.what for gap in world.scope.gaps]
    if missing:
        more = f" and {len(missing) - 2} more" if len(missing) > 2 else ""
        listed = f"{', '.join(missing[:2])}{more}"
        yield RankedReason(
            kind=ReasonKind.FACTS_MISSING,
            text=f"its effect on {listed} is not known: not in the facts",
            unknown=True,
            weight=60,
        )
