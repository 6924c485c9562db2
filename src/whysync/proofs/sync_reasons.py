"""Describe what a sync does, as reasons of a `Safety`: damage, outcome, whether it lasts, side effects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from whysync.argocd.tracking.method import TrackingMethod
from whysync.diagnosis.drift.mechanism import Mechanism, has_unsynced_revision
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.report import Reason, ReasonKind
from whysync.diagnosis.symptom import Side
from whysync.fixes.while_syncing import is_running
from whysync.json_tree import Json, Missing, dig, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import phrase
from whysync.messages.parse import understand
from whysync.messages.patterns.projects import ProjectDenied
from whysync.messages.wrappers import LayerKind
from whysync.proofs.simulated_case import SimulatedCase
from whysync.proofs.sync_effects import WORKLOADS, Aftermath, Effects, Overwritten, holds_data

_LONGEST: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectText:
    kind: ReasonKind
    text: str
    refs: tuple[Ref, ...] = ()
    weight: int = 0
    unsafe: bool = False
    unknown: bool = False

    @property
    def reason(self) -> Reason:
        return Reason(kind=self.kind, text=self.text, refs=self.refs)


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def listed(refs: Sequence[Ref], most: int = 2) -> str:
    shown = [str(ref) for ref in refs[:most]]
    if len(refs) > most:
        return f"{', '.join(shown)} and {len(refs) - most} more"
    return " and ".join(shown)


def brief(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "nothing"
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return short(words, 40)


def short(words: str, longest: int = _LONGEST) -> str:
    flat = " ".join(words.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def ago(age: timedelta) -> str:
    return f"{span(age)} ago"


def span(age: timedelta) -> str:
    seconds = max(int(age.total_seconds()), 0)
    for size, unit, limit in ((1, "s", 120), (60, "min", 120 * 60), (3600, "h", 48 * 3600)):
        if seconds < limit:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86400} d"


# --- how it ends ---------------------------------------------------------------------------------


def outcome(world: SimulatedCase, findings: Sequence[Finding], *, ended: bool) -> Iterator[EffectText]:
    phase, message = text(world.operation.get("phase")), text(world.operation.get("message"))
    if not ended:
        waits = [key for key in sorted(world.operators.unknown) if f"/{key.kind}/{key.name}" in message]
        if waits:
            refs = tuple(world.ref(key) for key in waits)
            words = f"whether {listed(refs)} becomes healthy is not known: its operator is not simulated"
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
        words = f"it fails again until {until}" if until else f"it fails again: {short(message)}"
        yield EffectText(kind=ReasonKind.SYNC_FAILS, text=words, weight=65, refs=_failed_refs(world))
    elif has_unsynced_revision(world.case) or known is None or _is_against_the_project(world):
        yield EffectText(
            kind=ReasonKind.SYNC_FAILS,
            text=f"it would fail: {short(_why(world) or message)}",
            weight=65,
            refs=_failed_refs(world),
        )
    else:
        yield EffectText(
            kind=ReasonKind.MODEL_DIFFERS,
            text=f"it fails in the simulation, unlike the last sync: {short(_why(world) or message)}",
            weight=65,
            unknown=True,
            refs=_failed_refs(world),
        )


def _without_end(world: SimulatedCase, message: str) -> str:
    known = world.case.operation
    if known is None or not is_running(world.case):
        return f"it would not finish: {short(message)}" if message else "it would not finish"
    if _is_retrying(known.message) and _is_retrying(message):
        # As it is now: the model has counted on, to attempts that nobody has seen.
        return f"it is retried: {short(known.message)}"
    return f"it does not finish: {short(message)}" if message else "it does not finish"


def _is_against_the_project(world: SimulatedCase) -> bool:
    """Argo CD itself refuses it, by a project that is among the facts: it was changed since the last sync."""
    denied = any(isinstance(failure, ProjectDenied) for failure in understand(_why(world)).failures)
    return world.case.project_manifest is not None and denied


def _is_retrying(message: str) -> bool:
    """Has Argo CD scheduled the next attempt?"""
    return any(layer.kind is LayerKind.RETRYING for layer in understand(message).layers)


def _root(findings: Sequence[Finding]) -> str:
    """What must change first, in the words of the finding that explains the failure."""
    for finding in findings:
        if finding.side in (Side.APPLY, Side.HEALTH) and not finding.caused_by:
            if finding.root:
                return f"this is fixed: {short(finding.root)}"
            return f"this is fixed: {short(finding.verdict)}"
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
        words = f"it does not last: {listed(lost)} is deleted again"
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
        words = f"{who} writes it back, and all repeats"
        if timed:
            words += f" every ~{span(result.period)}"
        restarted = looping_restarts(effects, result)
        if restarted:
            words = f"it restarts the pods of {listed(restarted)}; {words}"
        yield EffectText(kind=ReasonKind.SYNC_LOOP, text=words, refs=refs, weight=75, unsafe=bool(restarted))
    else:
        timed = next((writer for writer in result.writers if writer.timed), None)
        after = f", as it did {span(timedelta(seconds=timed.seconds))} after the last sync" if timed else ""
        words = f"it does not last: {who} writes it back{after}"
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
        return "an unknown writer"
    return names[0] if len(names) == 1 else f"{names[0]} (and {len(names) - 1} more)"


def _unhealthy(world: SimulatedCase) -> Iterator[EffectText]:
    health = world.codes[1]
    if health == "Degraded" and world.case.app.status.health.status == health:
        yield EffectText(
            kind=ReasonKind.STAYS_DEGRADED,
            text="the app stays Degraded: a sync does not fix that",
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
        who = phrase(other.writer) if other.writer is not None else "an unknown writer"
        when = f" {ago(other.age)}" if other.age is not None else ""
        words = f"it overwrites {other.pointer} of {other.ref}, which {who} wrote{when}"
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
            text=f"it brings {listed(plain)} to what Git declares",
            refs=tuple(plain),
            weight=20,
        )
    yield from _left_unpruned(world, effects)
    if sure and effects.is_nothing and text(world.operation.get("phase")) == "Succeeded":
        yield EffectText(kind=ReasonKind.CHANGES_NOTHING, text="it changes nothing in the cluster", weight=41)


def _left_unpruned(world: SimulatedCase, effects: Effects) -> Iterator[EffectText]:
    """What a sync with `--prune` would delete; that includes auto-sync with `automated.prune`."""
    rows = world.case.app.status.resources
    left = [row.ref for row in rows if row.requires_pruning]
    if not left:
        return
    words = f"without --prune it leaves {listed(left)} in the cluster"
    lost = [
        f"{ref} {_lost_with(world, effects, ref)[0]}" for ref in left if _lost_with(world, effects, ref)[0]
    ]
    if all(row.requires_pruning for row in rows):
        words += f"; with --prune it deletes everything that the app has ({count(len(left), 'object')})"
    elif lost:
        more = f" and {count(len(lost) - 2, 'object')} more" if len(lost) > 2 else ""
        words += f"; with --prune it deletes {', '.join(lost[:2])}{more}"
    if world.case.prunes and not all(row.requires_pruning for row in rows):
        words += "; auto-sync prunes (automated.prune is true)"
    yield EffectText(kind=ReasonKind.LEAVES_UNPRUNED, text=words, refs=tuple(left), weight=34)


def _lost_with(world: SimulatedCase, effects: Effects, ref: Ref) -> tuple[str, int]:
    """What is lost with an object, in words and as the weight of that; empty if nothing is."""
    data, pods = holds_data(world, ref), effects.pods_of(ref)
    if data:
        return data, 95
    if pods:
        return f"with {count(pods, 'running pod')}", 85
    return ("and its address is lost", 80) if _has_address(world, ref) else ("", 0)


def _taken(world: SimulatedCase, effects: Effects) -> Iterator[EffectText]:
    """Another Application lives on what it applied: with other values there, it is the one that breaks.

    A label may be anybody's; the annotation is written by Argo CD alone.
    """
    by_label = world.case.argocd.tracking_method is TrackingMethod.LABEL
    names = world.case.index.apps_by_name
    for ref, other in effects.taken:
        changed = [one.pointer for one in effects.overwritten if one.ref == ref and not one.is_work]
        if by_label and other.rpartition("_")[2] not in names:
            yield EffectText(
                kind=ReasonKind.TAKES_OVER,
                text=f"it takes over {ref}, which is tracked by {other}",
                refs=(ref,),
                weight=61,
            )
        elif changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            words = f"it takes over {ref} from Application {other}, and overwrites its {changed[0]}{more}"
            yield EffectText(kind=ReasonKind.TAKES_OVER, text=words, refs=(ref,), weight=84, unsafe=True)
        else:
            yield EffectText(
                kind=ReasonKind.TAKES_OVER,
                text=f"it takes over {ref} from Application {other}",
                refs=(ref,),
                weight=61,
            )


def _is_scale(one: Overwritten) -> bool:
    return one.pointer == "/spec/replicas" or one.mechanism is Mechanism.AUTOSCALED


RECENT: Final = timedelta(hours=1)
"""Work of a person that is younger is taken for a part of an incident."""
_MOST_ALIKE: Final = 2


def harm(world: SimulatedCase, effects: Effects) -> Iterator[EffectText]:
    yield from _deleted(world, effects)
    yield from _recreated(world, effects)
    yield from _dropped_pods(effects)
    yield from _by_hand(effects)
    yield from _generated(effects)


def _deleted(world: SimulatedCase, effects: Effects) -> Iterator[EffectText]:
    gone = effects.deleted
    if gone and not any(key in world.objects() for key in world.part.keys):
        yield EffectText(
            kind=ReasonKind.DELETES,
            text=f"it deletes everything that the app has ({count(len(gone), 'object')})",
            refs=gone,
            weight=100,
            unsafe=True,
        )
    harmless: list[Ref] = []
    for ref in gone:
        lost, weight = _lost_with(world, effects, ref)
        if not lost:
            harmless.append(ref)
            continue
        yield EffectText(
            kind=ReasonKind.DELETES, text=f"it deletes {ref} {lost}", refs=(ref,), weight=weight, unsafe=True
        )
    if harmless:
        yield EffectText(
            kind=ReasonKind.DELETES, text=f"it deletes {listed(harmless)}", refs=tuple(harmless), weight=30
        )


def _has_address(world: SimulatedCase, ref: Ref) -> bool:
    status = dig(world.before.get(ref.key, {}), "status", "loadBalancer", "ingress")
    return ref.kind in ("Service", "Ingress") and bool(items(status))


def _recreated(world: SimulatedCase, effects: Effects) -> Iterator[EffectText]:
    for ref in effects.recreated:
        data, pods = holds_data(world, ref), effects.pods_of(ref)
        if data:
            yield EffectText(
                kind=ReasonKind.RECREATES,
                text=f"it deletes {ref} {data}, and recreates it",
                refs=(ref,),
                weight=95,
                unsafe=True,
            )
        elif pods:
            words = f"it deletes {ref} and recreates it: its {count(pods, 'running pod')} stop first"
            yield EffectText(kind=ReasonKind.RECREATES, text=words, refs=(ref,), weight=85, unsafe=True)
        else:
            yield EffectText(
                kind=ReasonKind.RECREATES, text=f"it deletes {ref} and recreates it", refs=(ref,), weight=35
            )


def _dropped_pods(effects: Effects) -> Iterator[EffectText]:
    hurt: list[tuple[Ref, int, str]] = []
    for ref, before, after in effects.scaled:
        field = next((one for one in effects.overwritten if _is_replicas(one, ref)), None)
        dropped = _dropped(effects, ref, before, after)
        if dropped and field is not None and not field.is_of_git:
            named = field.by_hand or (field.is_work and field.mechanism is not Mechanism.AUTOSCALED)
            by = f", set by {_who_and_when(field)}" if named else ""
            hurt.append((ref, dropped, f"{before} now{by}, Git declares {after}"))
        else:
            yield EffectText(
                kind=ReasonKind.SCALES,
                text=f"it scales {ref} from {before} to {after}",
                refs=(ref,),
                weight=40,
            )
    if len(hurt) > _MOST_ALIKE:
        refs, total = tuple(ref for ref, _, _ in hurt), sum(number for _, number, _ in hurt)
        yield EffectText(
            kind=ReasonKind.DROPS_PODS,
            text=f"it drops {total} running pods of {listed(refs)}",
            refs=refs,
            weight=93,
            unsafe=True,
        )
        return
    for ref, number, how in hurt:
        what = "running pod" if ref.kind in WORKLOADS else "replica"
        words = f"it drops {count(number, what)} of {ref} ({how})"
        yield EffectText(kind=ReasonKind.DROPS_PODS, text=words, refs=(ref,), weight=93, unsafe=True)


def _dropped(effects: Effects, ref: Ref, before: int, after: int) -> int:
    return max(min(effects.pods_of(ref), before) - after, 0)


def _who_and_when(one: Overwritten) -> str:
    who = phrase(one.writer) if one.writer is not None else "an unknown writer"
    return f"{who} {ago(one.age)}" if one.age is not None else f"{who} at an unknown time"


def _is_replicas(one: Overwritten, ref: Ref) -> bool:
    return one.ref == ref and one.pointer == "/spec/replicas"


def _by_hand(effects: Effects) -> Iterator[EffectText]:
    told = {ref for ref, before, after in effects.scaled if _dropped(effects, ref, before, after)}
    work = [
        one
        for one in effects.overwritten
        if one.by_hand and not (one.ref in told and one.pointer == "/spec/replicas")
    ]
    recent = [one for one in work if one.age is not None and one.age < RECENT]
    undated = [one for one in work if one.age is None]
    old = [one for one in work if one.age is not None and one.age >= RECENT]
    yield from _undone(recent, weight=92, unsafe=True)
    yield from _undone(undated, weight=70, unknown=True)
    yield from _undone(old, weight=50)


def _undone(
    work: Sequence[Overwritten], *, weight: int, unsafe: bool = False, unknown: bool = False
) -> Iterator[EffectText]:
    """Each of a few fields; of many the first, and how many more there are."""
    shown = work if len(work) <= _MOST_ALIKE else work[:1]
    for one in shown:
        values = f"{brief(one.before)}, Git declares {brief(one.after)}"
        words = f"it reverts {one.pointer} of {one.ref} ({values}), set by {_who_and_when(one)}"
        if len(shown) < len(work):
            words += f", and {len(work) - 1} more fields that were written by hand"
        refs = tuple(dict.fromkeys(each.ref for each in work)) if shown is not work else (one.ref,)
        yield EffectText(
            kind=ReasonKind.UNDOES_MANUAL_CHANGE,
            text=words,
            refs=refs,
            weight=weight,
            unsafe=unsafe,
            unknown=unknown,
        )


def _generated(effects: Effects) -> Iterator[EffectText]:
    """A value that Git renders anew each time: who has the old one by heart is locked out."""
    for one in effects.overwritten:
        if (
            one.mechanism is Mechanism.GENERATED
            and one.ref.kind == "Secret"
            and one.pointer.startswith("/data")
        ):
            words = f"it replaces {one.pointer} of {one.ref} with a newly generated value"
            yield EffectText(
                kind=ReasonKind.REPLACES_GENERATED_VALUE, text=words, refs=(one.ref,), weight=80, unsafe=True
            )
