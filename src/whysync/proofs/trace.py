"""What happened in a proof, as a small timeline: without the fix, then with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from whysync.argocd.app_controller.trace import TraceKind
from whysync.diagnosis.freshness import looping
from whysync.diagnosis.symptom import SymptomKind
from whysync.json_tree import Json, Missing
from whysync.proofs.aftermath import period_of
from whysync.proofs.observer import Observer, Sample
from whysync.proofs.runs import ROUNDS, Run, With
from whysync.proofs.writers import OtherWriter

_MOST: Final = 12
_LONGEST: Final = 160
_COMMIT: Final = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{33}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    at: datetime
    order: tuple[int, int]
    text: str


def trace_of(without: Run, course: With) -> tuple[str, ...]:
    """`+m:ss` is simulated time since the facts were taken."""
    return (
        "without the fix",
        *_lines(without.watch),
        *_loop(without.watch),
        "with the fix",
        *_lines(course.watch, until=course.settled),
        f"  {_since(course.watch, course.watch.now):>6}  {_state(course.watch)},"
        f" after {ROUNDS} rounds more, the last with a sync",
    )


def _lines(watch: Observer, until: datetime | None = None) -> Iterator[str]:
    events = sorted(_events(watch), key=lambda one: (one.at, one.order))
    shown = [event for event in events if until is None or event.at <= until]
    told: list[str] = []
    for one in shown:
        line = f"  {_since(watch, one.at):>6}  {one.text}"
        if not told or told[-1] != line:
            told.append(line)
    yield from told[:_MOST]
    if len(told) > _MOST:
        yield f"       …  {len(told) - _MOST} more, the last: {told[-1].strip()}"


def _events(watch: Observer) -> Iterator[_Event]:
    for deed in watch.deeds:
        words = f"{deed.text}: refused: {deed.refused}" if deed.refused else deed.text
        yield _Event(at=deed.at, order=(deed.number, 2), text=_brief(words))
    for number, moment in enumerate(watch.moments, start=1):
        if moment.what is TraceKind.STARTED:
            words = _COMMIT.sub(r"\1", moment.text) or "a sync starts"
            yield _Event(at=moment.at, order=(number, 0), text=_brief(words))
        elif moment.what is TraceKind.ENDED:
            failed = moment.text if moment.phase != "Succeeded" else ""
            words = f"sync {moment.phase}" if moment.phase else "sync ends"
            yield _Event(
                at=moment.at, order=(number, 0), text=_brief(f"{words}: {failed}" if failed else words)
            )
    first = watch.glimpses[0]
    yield _Event(at=first.at, order=(0, 0), text=_codes(first))
    for before, after in pairwise(watch.glimpses):
        if (before.sync, before.health) != (after.sync, after.health):
            yield _Event(at=after.at, order=(after.number, 1), text=_codes(after))


def _codes(glimpse: Sample) -> str:
    return f"{glimpse.sync or '?'} · {glimpse.health or '?'}"


def _loop(watch: Observer) -> Iterator[str]:
    """Two writers and one field, with the time between two rounds: as history shows it, or the model."""
    gaps = [later - earlier for earlier, later in pairwise(watch.starts)]
    if len(gaps) < 2:
        return
    differing = {
        sign.key
        for glimpse in watch.glimpses
        for sign in glimpse.signs
        if sign.kind is SymptomKind.DIFFERS and sign.key is not None
    }
    writers = [one for one in watch.world.writers.all if one.again and one.ref.key in differing]
    seen = looping(watch.world.case)
    period = (seen.period if seen is not None else None) or period_of(tuple(writers), gaps) or gaps[0]
    if not writers:
        yield f"    loop  Argo CD syncs again about every {_brief_time(period)}"
    for writer in writers[:3]:
        yield f"    loop  about every {_brief_time(period)}: {_both(watch, writer)}"


def _both(watch: Observer, other: OtherWriter) -> str:
    drift = next(
        (
            drift
            for drift in watch.world.case.drifts
            if drift.ref.key == other.ref.key and drift.pointer == other.pointer
        ),
        None,
    )
    wanted = _value(drift.wanted) if drift is not None else "Git's value"
    found = _value(drift.found) if drift is not None else "its own"
    return _brief(f"{other.pointer}: Argo CD sets {wanted}, {other.who} sets {found} again")


def _value(value: Json | Missing) -> str:
    if isinstance(value, Missing):
        return "nothing"
    return str(value) if not isinstance(value, dict | list) else "another value"


def _state(watch: Observer) -> str:
    return " · ".join(code or "?" for code in watch.world.codes)


def _since(watch: Observer, at: datetime) -> str:
    seconds = int((at - watch.began).total_seconds())
    return f"+{seconds // 60}:{seconds % 60:02}"


def _brief_time(span: timedelta) -> str:
    seconds = round(span.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{round(seconds / 60)} min"


def _brief(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
