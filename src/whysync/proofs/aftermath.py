"""Does what a sync has done hold? The world goes on for a while, with everybody who writes in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.diagnosis.freshness import looping
from whysync.json_tree import dig, items, text
from whysync.kubernetes.api.ref import Key
from whysync.proofs.world import SimulatedCase
from whysync.proofs.writers import OtherWriter

WHILE: Final = timedelta(minutes=15)
_ROUNDS: Final = 3
_WRITTEN: Final = (" configured", " created", " serverside-applied", " replaced")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """`again` is how long after the sync it differed again; `None` where it held."""

    again: timedelta | None = None
    rounds: int = 0
    """Syncs that Argo CD started by itself afterwards."""
    period: timedelta | None = None
    """Between two of them: as history shows it, else as the model does."""
    seen: bool = False
    """The facts show the loop too."""
    writers: tuple[OtherWriter, ...] = ()
    gone: tuple[Key, ...] = ()
    """Objects that are not there any more: somebody deletes them."""

    @property
    def is_loop(self) -> bool:
        return self.rounds > 1


def held(world: SimulatedCase) -> Aftermath:
    """Lets time pass; raises `Restless`. Ends early once a loop has shown itself."""
    began, start = world.simulation.clock.now, len(world.simulation.argocd.trace)
    differs: dict[Key, datetime] = dict.fromkeys(_differing(world), began)
    world.wake()

    def enough() -> bool:
        for key in _differing(world):
            differs.setdefault(key, world.simulation.clock.now)
        return len(_started(world.simulation.argocd.trace[start:])) > _ROUNDS

    world.until(enough, WHILE)
    moments = world.simulation.argocd.trace[start:]
    starts = _started(moments)
    for moment in moments:  # a difference that is healed at the same instant is seen by what was written only
        if (
            starts
            and moment.what is TraceKind.RESULT
            and moment.about is not None
            and moment.text.endswith(_WRITTEN)
        ):
            differs.setdefault(_key_of(world, moment.about.key), moment.at)
    if not differs:
        return Aftermath()
    loop = looping(world.case)
    writers = tuple(one for one in world.writers.all if one.again and one.ref.key in differs)
    between = [later - earlier for earlier, later in pairwise(starts)]
    return Aftermath(
        again=min(differs.values()) - began,
        rounds=len(starts),
        period=(loop.period if loop is not None else None) or period_of(writers, between),
        seen=loop is not None,
        writers=writers,
        gone=tuple(sorted(differs.keys() - world.objects().keys())),
    )


def _key_of(world: SimulatedCase, told: Key) -> Key:
    """Results name the destination's namespace for cluster-wide objects, too: so Argo CD keeps them."""
    wide = told._replace(namespace="")
    known = world.objects()
    return wide if told not in known and wide in known else told


def _started(moments: list[TraceEvent]) -> list[datetime]:
    return [moment.at for moment in moments if moment.what is TraceKind.STARTED]


def _differing(world: SimulatedCase) -> frozenset[Key]:
    rows = items(world.status.get("resources"))
    return frozenset(
        Key(*(text(dig(row, part)) for part in ("group", "kind", "namespace", "name")))
        for row in rows
        if dig(row, "status") == "OutOfSync" and dig(row, "requiresPruning") is not True
    )


def period_of(writers: tuple[OtherWriter, ...], spans: list[timedelta]) -> timedelta | None:
    """Who was seen to take a minute is no faster for being played: the model's own times are short."""
    if not spans:
        return None
    slowest = max((writer.seconds for writer in writers if writer.timed), default=0.0)
    return max(sorted(spans)[len(spans) // 2], timedelta(seconds=slowest))
