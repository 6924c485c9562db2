"""What becomes of a sync, in sentences: each says one thing, and how much it weighs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from whysync.argocd.tracking.method import TrackingMethod
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.mechanism import Mechanism, behind_git
from whysync.diagnosis.report import ReasonKind
from whysync.diagnosis.symptom import Side
from whysync.fixes.while_syncing import is_running
from whysync.json_tree import dig, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import phrase
from whysync.proofs.aftermath import Aftermath
from whysync.proofs.effects import Effects, Overwritten, holds_data
from whysync.proofs.effects_text import EffectText, listed, short, span
from whysync.proofs.world import SimulatedCase

_RETRYING: Final = "Retrying attempt #"


# --- how it ends ---------------------------------------------------------------------------------


def outcome(world: SimulatedCase, findings: Sequence[Finding], *, ended: bool) -> Iterator[EffectText]:
    phase, message = text(world.operation.get("phase")), text(world.operation.get("message"))
    if not ended:
        waits = [key for key in sorted(world.operators.unknown) if f"/{key.kind}/{key.name}" in message]
        if waits:
            refs = tuple(world.ref(key) for key in waits)
            words = f"whether {listed(refs)} becomes healthy is not known: its operator is not modelled"
            yield EffectText(
                kind=ReasonKind.OPERATOR_NOT_MODELED, text=words, refs=refs, weight=65, unknown=True
            )
            return
        yield EffectText(
            kind=ReasonKind.SYNC_HANGS, text=_without_end(world, message), weight=65, refs=_failed_refs(world)
        )
        return
    if phase == "Succeeded":
        return
    known = world.case.operation
    blocked = any(
        condition.type.endswith("Error") and condition.type in message
        for condition in world.case.app.status.conditions
    )
    before = blocked or (known is not None and known.phase in ("Failed", "Error"))
    running = known is not None and known.phase == "Running"
    if before or running:
        until = _root(findings)
        words = (
            f"it will fail the same way until {until}" if until else f"it will fail again: {short(message)}"
        )
        yield EffectText(kind=ReasonKind.SYNC_FAILS, text=words, weight=65, refs=_failed_refs(world))
    elif behind_git(world.case) or known is None or _is_against_the_project(world):
        yield EffectText(
            kind=ReasonKind.SYNC_FAILS,
            text=f"it would fail: {short(_why(world) or message)}",
            weight=65,
            refs=_failed_refs(world),
        )
    else:
        yield EffectText(
            kind=ReasonKind.MODEL_DIFFERS,
            text=f"on the model it fails, where the cluster did not: {short(_why(world) or message)}",
            weight=65,
            unknown=True,
            refs=_failed_refs(world),
        )


def _without_end(world: SimulatedCase, message: str) -> str:
    known = world.case.operation
    if known is None or not is_running(world.case):
        return f"it would hang: {short(message)}"
    if _RETRYING in known.message and _RETRYING in message:
        # As it is now: the model has counted on, to attempts that nobody has seen.
        return f"it is tried again and again: {short(known.message)}"
    return f"it hangs: {short(message)}"


def _is_against_the_project(world: SimulatedCase) -> bool:
    """Argo CD itself refuses it, by a project that is among the facts: it was changed since the last sync."""
    return world.case.project_manifest is not None and " is not permitted in project " in _why(world)


def _root(findings: Sequence[Finding]) -> str:
    """What must change first, in the words of the finding that explains the failure."""
    for finding in findings:
        if finding.side in (Side.APPLY, Side.HEALTH) and not finding.caused_by:
            if finding.root:
                return f"this is mended: {short(finding.root)}"
            return f"this is mended: {short(finding.verdict)}"
    return ""


def _why(world: SimulatedCase) -> str:
    for row in items(dig(world.operation, "syncResult", "resources")):
        if dig(row, "status") == "SyncFailed" or dig(row, "hookPhase") in ("Failed", "Error"):
            return f"{text(dig(row, 'kind'))} {text(dig(row, 'name'))}: {text(dig(row, 'message'))}"
    return ""


def _failed_refs(world: SimulatedCase) -> tuple[Ref, ...]:
    return tuple(
        Ref(
            group=text(dig(row, "group")),
            version=text(dig(row, "version")),
            kind=text(dig(row, "kind")),
            namespace=text(dig(row, "namespace")),
            name=text(dig(row, "name")),
        )
        for row in items(dig(world.operation, "syncResult", "resources"))
        if dig(row, "status") == "SyncFailed" or dig(row, "hookPhase") in ("Failed", "Error", "Running")
    )


def hold_words(world: SimulatedCase, effects: Effects, result: Aftermath) -> Iterator[EffectText]:
    if result.again is None:
        yield from _unhealthy(world)
        return
    refs = tuple(dict.fromkeys(writer.ref for writer in result.writers))
    who = _who_writes(result)
    if result.gone and not result.writers:
        lost = tuple(world.ref(key) for key in result.gone)
        words = f"it does not last: {listed(lost)} is deleted again after {span(result.again)}"
        yield EffectText(kind=ReasonKind.DOES_NOT_LAST, text=words, refs=lost, weight=62)
    elif not result.writers:
        yield EffectText(
            kind=ReasonKind.DOES_NOT_HELP,
            text="it does not help: the difference stays, whatever a sync writes",
            weight=62,
        )
    elif result.again <= timedelta():
        yield EffectText(
            kind=ReasonKind.DOES_NOT_HELP,
            text=f"it does not help: {who} makes it differ at once",
            refs=refs,
            weight=62,
        )
    elif result.is_loop and result.period is not None:
        timed = result.seen or any(writer.timed for writer in result.writers)
        words = f"{who} writes it back after {span(result.again)}, and all repeats"
        if timed:
            words = f"{who} writes it back, and all repeats every ~{span(result.period)}"
        restarted = looping_restarts(effects, result)
        if restarted:
            words = f"it restarts the pods of {listed(restarted)}; {words}"
        yield EffectText(kind=ReasonKind.SYNC_LOOP, text=words, refs=refs, weight=75, unsafe=bool(restarted))
    else:
        words = f"it does not last: {who} writes it back after {span(result.again)}"
        yield EffectText(kind=ReasonKind.DOES_NOT_LAST, text=words, refs=refs, weight=62)


def looping_restarts(effects: Effects, result: Aftermath) -> tuple[Ref, ...]:
    """Workloads whose pods are restarted in each round."""
    if not result.is_loop:
        return ()
    written = {writer.ref.key for writer in result.writers}
    return tuple(ref for ref, pods in effects.restarted if pods and ref.key in written)


def _who_writes(result: Aftermath) -> str:
    names = list(dict.fromkeys(writer.who for writer in result.writers))
    if not names:
        return "somebody"
    return names[0] if len(names) == 1 else f"{names[0]} (and {len(names) - 1} more)"


def _unhealthy(world: SimulatedCase) -> Iterator[EffectText]:
    health = world.codes[1]
    if health == "Degraded" and world.case.app.status.health.status == health:
        yield EffectText(
            kind=ReasonKind.STAYS_DEGRADED,
            text="the app stays Degraded: a sync does not mend that",
            weight=42,
        )


# --- what else -----------------------------------------------------------------------------------


def side_effects(
    world: SimulatedCase, effects: Effects, result: Aftermath, *, sure: bool
) -> Iterator[EffectText]:
    yield from _taken(world, effects)
    for ref, phase in effects.hooks if not is_running(world.case) else ():
        yield EffectText(
            kind=ReasonKind.RUNS_HOOKS, text=f"it runs the {phase} hook {ref}", refs=(ref,), weight=38
        )
    told = looping_restarts(effects, result)
    for ref, pods in effects.restarted:
        if pods and ref not in told:
            words = f"it restarts the pod of {ref}"
            if pods > 1:
                words = f"it restarts the {pods} pods of {ref}, one after the other"
            yield EffectText(kind=ReasonKind.RESTARTS_PODS, text=words, refs=(ref,), weight=39)
    back = {writer.ref.key for writer in result.writers}  # told already: who writes it back has written it
    others = [
        one
        for one in effects.overwritten
        if one.is_work and not one.by_hand and not _is_scale(one) and one.ref.key not in back
    ]
    for other in others[:3]:
        who = phrase(other.writer) if other.writer is not None else "somebody"
        words = f"it overwrites {other.pointer} of {other.ref}, which {who} wrote"
        yield EffectText(kind=ReasonKind.OVERWRITES, text=words, refs=(other.ref,), weight=36)
    if effects.created:
        made = effects.created
        yield EffectText(kind=ReasonKind.CREATES, text=f"it creates {listed(made)}", refs=made, weight=20)
    changed = tuple(dict.fromkeys(one.ref for one in effects.overwritten if not one.is_work))
    restarted = {ref for ref, _ in effects.restarted}
    told_of = {*restarted, *(ref for ref, _ in effects.taken), *(ref for ref, _, _ in effects.scaled)}
    plain = [ref for ref in changed if ref not in told_of]
    if plain:
        yield EffectText(
            kind=ReasonKind.UPDATES,
            text=f"it brings {listed(plain)} to what Git says",
            refs=tuple(plain),
            weight=20,
        )
    left = [row for row in world.case.app.status.resources if row.requires_pruning]
    if left and not world.case.prunes:
        words = f"without --prune it leaves {listed([row.ref for row in left])} in the cluster"
        data = [row.ref for row in left if holds_data(world, row.ref)]
        if data:
            words += f"; with it, {listed(data)} would be deleted with its data"
        yield EffectText(
            kind=ReasonKind.LEAVES_UNPRUNED, text=words, refs=tuple(row.ref for row in left), weight=34
        )
    if sure and effects.is_nothing and text(world.operation.get("phase")) == "Succeeded":
        yield EffectText(kind=ReasonKind.CHANGES_NOTHING, text="it changes nothing in the cluster", weight=41)


def _taken(world: SimulatedCase, effects: Effects) -> Iterator[EffectText]:
    """Another Application lives on what it applied: with other values there, it is the one that breaks.

    A label may be anybody's; the annotation is written by Argo CD alone.
    """
    by_label = world.case.argocd.tracking_method is TrackingMethod.LABEL
    names = world.case.world.apps_by_name
    for ref, other in effects.taken:
        changed = [one.pointer for one in effects.overwritten if one.ref == ref and not one.is_work]
        if by_label and other.rpartition("_")[2] not in names:
            yield EffectText(
                kind=ReasonKind.TAKES_OVER,
                text=f"it takes {ref} over, which is marked as {other}'s",
                refs=(ref,),
                weight=61,
            )
        elif changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            words = f"it takes {ref} over from Application {other}, and overwrites its {changed[0]}{more}"
            yield EffectText(kind=ReasonKind.TAKES_OVER, text=words, refs=(ref,), weight=84, unsafe=True)
        else:
            yield EffectText(
                kind=ReasonKind.TAKES_OVER,
                text=f"it takes {ref} over from Application {other}",
                refs=(ref,),
                weight=61,
            )


def _is_scale(one: Overwritten) -> bool:
    return one.pointer == "/spec/replicas" or one.mechanism is Mechanism.AUTOSCALED
