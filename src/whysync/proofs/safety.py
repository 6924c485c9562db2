"""Is it safe to sync now? `argocd app sync` is run on the world of the Case, and what it did is told.

Unsafe is what cannot be taken back or hurts at once: work of a person that is an hour old, running pods that
are dropped, objects that hold data and are deleted or made anew. What merely does not help is safe, and says
so. Where the facts do not make a world, or the model sees something else than Argo CD does, it is unknown.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from whysync.cluster.life.life import Restless as NoRest
from whysync.cluster.timeline import Restless
from whysync.contracts.ref import Ref
from whysync.contracts.tree import text
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.report import Reason, Safety, SyncSafety
from whysync.engine.argocd import Denied
from whysync.fixes.running import is_running
from whysync.proofs.agreement import disagreement, no_comparison
from whysync.proofs.effects import effects_of
from whysync.proofs.ground import NotSimulated, Simulated, simulated
from whysync.proofs.holding import Held, held
from whysync.proofs.part import is_overwritten
from whysync.proofs.telling import Told, harm, hold_words, outcome, side_effects

log = logging.getLogger(__name__)
_LONGEST_SYNC: Final = timedelta(minutes=30)
_MOST_REASONS: Final = 6


def safety_of(case: Case, findings: Sequence[Finding] = ()) -> Safety:
    """Never raises: what goes wrong with a simulation is a reason for not knowing."""
    try:
        return _safety(case, findings)
    except (Restless, NoRest) as problem:
        return _unknown(f"the model of this cluster never comes to rest ({problem})")
    except Exception as problem:  # a diagnosis without a verdict is better than none
        log.debug("the simulation of %s failed", case.app.name, exc_info=True)
        return _unknown(f"the sync could not be tried on the model ({type(problem).__name__}: {problem})")


def _safety(case: Case, findings: Sequence[Finding]) -> Safety:
    early = _without_a_world(case)
    if early is not None:
        return early
    try:
        world = simulated(case, quiet=not is_running(case))
    except NotSimulated as problem:
        return _unknown(problem.gap.why)
    since = len(world.simulation.model.store.journal)
    world.simulation.timeline.settle()
    if world.codes[0] not in ("Synced", "OutOfSync"):
        return _unknown(f"on the model Argo CD cannot compare the app: {no_comparison(world)}")
    apart = disagreement(world)
    told: list[Told] = []
    if is_running(case):
        told.append(Told(text="a sync runs already, and another one is refused until it ends", weight=66))
    else:
        since = len(world.simulation.model.store.journal)
        try:
            world.sync()
        except Denied as problem:
            why = str(problem).rpartition("desc = ")[2]
            return Safety(sync=SyncSafety.SAFE, reasons=(Reason(text=f"Argo CD would refuse it: {why}"),))
    ended = world.until(lambda: not world.is_operating, _LONGEST_SYNC)
    effects = effects_of(world, since)
    told += harm(world, effects)
    told += outcome(world, findings, ended=ended)
    result = Held()
    if text(world.operation.get("phase")) == "Succeeded":
        result = held(world)
        told += hold_words(world, effects, result)
    told += side_effects(world, effects, result, sure=not apart)
    told += _doubts(world, apart)
    return _verdict(told)


def _verdict(told: list[Told]) -> Safety:
    ranked = sorted(told, key=lambda one: -one.weight)
    if any(one.unsafe for one in ranked):
        sync = SyncSafety.UNSAFE
        ranked.sort(key=lambda one: not one.unsafe)
    elif any(one.unknown for one in ranked):
        sync = SyncSafety.UNKNOWN
        ranked.sort(key=lambda one: not one.unknown)
    else:
        sync = SyncSafety.SAFE
    reasons = tuple(Reason(text=one.text, refs=one.refs) for one in ranked[:_MOST_REASONS])
    return Safety(sync=sync, reasons=reasons)


def _without_a_world(case: Case) -> Safety | None:
    """What can be said though nothing was tried."""
    status = case.app.status.sync.status
    if not status:
        return _unknown("Argo CD has not compared the app yet")
    if status == "Unknown":
        return _unknown("a sync would not even start: Argo CD cannot compare the app")
    moved = _moved_on(case)
    if moved:
        return _unknown(f"it would bring commit {moved[:7]}, which Argo CD has not rendered yet")
    if status == "Synced" and not is_running(case) and not (case.symptoms and case.desired):
        hidden = (is_overwritten(case, one, case.live_of(one.key)) for one in case.desired)
        return None if any(hidden) else _synced(case)
    return None


def _synced(case: Case) -> Safety:
    """Nothing to be done; what hooks do, they do again."""
    hooks = list(dict.fromkeys(one.ref for one in case.results if one.hook_type))
    words = "nothing differs: it changes nothing"
    if case.app.status.health.status == "Degraded":
        words += ", and mends nothing"
    reasons = [Reason(text=words)]
    if hooks:
        more = f" and {len(hooks) - 1} more" if len(hooks) > 1 else ""
        reasons.append(Reason(text=f"it runs its hooks again: {hooks[0]}{more}", refs=tuple(hooks)))
    return Safety(sync=SyncSafety.SAFE, reasons=tuple(reasons))


def _moved_on(case: Case) -> str:
    """The commit that a sync would bring, where that is another one than was compared."""
    revisions = case.app.revisions
    for index, source in enumerate(case.app.sources):
        head = case.head_of(source.repo_url, source.target_revision)
        if head is not None and index < len(revisions) and head.commit != revisions[index]:
            return head.commit
    return ""


def _doubts(world: Simulated, apart: Sequence[str]) -> Iterator[Told]:
    """What the answer may hang on, and the facts lack."""
    for one in apart:
        yield Told(text=one, unknown=True, weight=60)
    unseen = [gap.what for gap in world.part.gaps]
    if unseen:
        more = f" and {len(unseen) - 2} more" if len(unseen) > 2 else ""
        listed = f"{', '.join(unseen[:2])}{more}"
        yield Told(
            text=f"what it does to {listed} is not known: not among the facts", unknown=True, weight=60
        )


def _unknown(why: str, *refs: Ref) -> Safety:
    return Safety(sync=SyncSafety.UNKNOWN, reasons=(Reason(text=why, refs=refs),))
