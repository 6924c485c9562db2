"""What a sync would hurt, in sentences: what it deletes, makes anew, scales down or overwrites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from whysync.diagnosis.mechanism import Mechanism
from whysync.diagnosis.report import ReasonKind
from whysync.json_tree import dig, items
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import phrase
from whysync.proofs.effects import WORKLOADS, Effects, Overwritten, holds_data
from whysync.proofs.effects_text import EffectText, ago, brief, count, listed
from whysync.proofs.world import SimulatedCase

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
        data, pods = holds_data(world, ref), effects.pods_of(ref)
        if data:
            yield EffectText(
                kind=ReasonKind.DELETES, text=f"it deletes {ref} {data}", refs=(ref,), weight=95, unsafe=True
            )
        elif pods:
            words = f"it deletes {ref} with {count(pods, 'running pod')}"
            yield EffectText(kind=ReasonKind.DELETES, text=words, refs=(ref,), weight=85, unsafe=True)
        elif _has_address(world, ref):
            yield EffectText(
                kind=ReasonKind.DELETES,
                text=f"it deletes {ref}, and its address is lost",
                refs=(ref,),
                weight=80,
                unsafe=True,
            )
        else:
            harmless.append(ref)
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
                text=f"it deletes {ref} {data}, and makes it anew",
                refs=(ref,),
                weight=95,
                unsafe=True,
            )
        elif pods:
            words = f"it deletes {ref} and makes it anew: its {count(pods, 'running pod')} stop first"
            yield EffectText(kind=ReasonKind.RECREATES, text=words, refs=(ref,), weight=85, unsafe=True)
        else:
            yield EffectText(
                kind=ReasonKind.RECREATES, text=f"it deletes {ref} and makes it anew", refs=(ref,), weight=35
            )


def _dropped_pods(effects: Effects) -> Iterator[EffectText]:
    hurt: list[tuple[Ref, int, str]] = []
    for ref, before, after in effects.scaled:
        field = next((one for one in effects.overwritten if _is_replicas(one, ref)), None)
        dropped = _dropped(effects, ref, before, after)
        if dropped and field is not None and not field.is_of_git:
            by = f", set by {_who_and_when(field)}" if field.by_hand else ""
            hurt.append((ref, dropped, f"{before} now{by}, Git says {after}"))
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
    who = phrase(one.writer) if one.writer is not None else "somebody"
    return f"{who} {ago(one.age)}" if one.age is not None else f"{who}, nobody knows when"


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
        values = f"{brief(one.before)}, Git says {brief(one.after)}"
        words = f"it undoes {one.pointer} of {one.ref} ({values}), set by {_who_and_when(one)}"
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
            words = f"it replaces {one.pointer} of {one.ref} by a newly generated value"
            yield EffectText(
                kind=ReasonKind.REPLACES_GENERATED_VALUE, text=words, refs=(one.ref,), weight=80, unsafe=True
            )
