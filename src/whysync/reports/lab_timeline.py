"""The timeline of `lab run`, line by line with the simulated time; repeated rounds of a loop are counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.argocd.sync.messages import TASKS_RUNNING
from whysync.reports.lab_animation import elapsed
from whysync.reports.terminal import Terminal, one_line

_FAILED: Final = ("Failed", "Error", "SyncFailed")
_LONGEST: Final = 4


class Line(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime
    app: str = ""
    mark: str = ""
    text: str
    starts_round: bool = False


_States = dict[tuple[str, str, str], str]


def lines_of(events: Iterable[TraceEvent]) -> Iterator[Line]:
    """The lines to show: without refreshes that changed nothing and results that are unchanged."""
    states: _States = {}
    for event in events:
        app = event.app.rpartition("/")[2]
        match event.kind:
            case TraceKind.STATUS:
                yield Line(at=event.at, app=app, text=event.text.replace(", ", " · "))
            case TraceKind.CONDITION:
                yield Line(at=event.at, app=app, mark="bad", text=f"{event.status}: {event.text}")
            case TraceKind.CLEARED:
                yield Line(at=event.at, app=app, mark="good", text=f"{event.text} is gone")
            case TraceKind.STARTED:
                states = _without(states, event.app)
                yield Line(at=event.at, app=app, text=_shortened(event.text), starts_round=True)
            case TraceKind.STEP:
                if event.text != TASKS_RUNNING:
                    yield Line(at=event.at, app=app, text=event.text)
            case TraceKind.RETRY:
                states = _without(states, event.app)  # the next attempt starts from scratch
                yield Line(at=event.at, app=app, mark="bad", text=event.text)
            case TraceKind.ENDED:
                mark = "good" if event.phase == "Succeeded" else "bad"
                text = f"sync {event.phase}: {event.text}" if event.text else f"sync {event.phase}"
                yield Line(at=event.at, app=app, mark=mark, text=text)
            case TraceKind.RESULT:
                key = event.app, str(event.about), event.phase
                if states.get(key) != event.status:
                    yield _result(event, app, is_repeated=key in states)
                states[key] = event.status
            case TraceKind.DELETED:
                yield Line(at=event.at, app=app, text="the Application is gone")
            case _:
                pass


def _without(states: _States, app: str) -> _States:
    return {key: value for key, value in states.items() if key[0] != app}


def _result(event: TraceEvent, app: str, *, is_repeated: bool) -> Line:
    mark = "bad" if event.status in _FAILED else "arrow" if event.status == "Running" else "good"
    phase = f"{event.phase} " if event.phase and event.phase != "Sync" else ""
    text = event.text if not is_repeated or mark == "bad" else {"good": "healthy"}.get(mark, event.text)
    return Line(at=event.at, app=app, mark=mark, text=f"{phase}{event.about}   {text}".rstrip())


def _shortened(text: str) -> str:
    """The text with commit ids cut to 7 characters."""
    return " ".join(
        word[:7] if len(word) == 40 and all(c in "0123456789abcdef" for c in word) else word
        for word in text.split(" ")
    )


def timeline_lines(lines: list[Line], start: datetime, terminal: Terminal) -> Iterator[str]:
    """The lines in chronological order; equal rounds of syncs are counted instead of repeated."""
    several = len({line.app for line in lines if line.app}) > 1
    rounds = _rounds(sorted(lines, key=lambda line: line.at))
    at = 0
    while at < len(rounds):
        length, times = _repeats(rounds, at)
        for sync_round in rounds[at : at + length]:
            for line in sync_round:
                yield from _formatted(line, start, terminal, several=several)
        if times > 1:
            last = rounds[at + length * times - 1][-1].at
            more = times - 1
            count = "once more" if more == 1 else f"{more} times more"
            yield f"{'':>9}  (the same again, {count}, until {elapsed(last - start)})"
        at += length * times


def _rounds(lines: list[Line]) -> list[list[Line]]:
    rounds: list[list[Line]] = [[]]
    for line in lines:
        if line.starts_round and rounds[-1]:
            rounds.append([])
        rounds[-1].append(line)
    return [sync_round for sync_round in rounds if sync_round]


def _repeats(rounds: list[list[Line]], at: int) -> tuple[int, int]:
    """Length and number of repetitions of the loop that starts here; (1, 1) if there is none."""
    for length in range(1, _LONGEST + 1):
        pattern = [_signature(sync_round) for sync_round in rounds[at : at + length]]
        times = 1
        while True:
            following = rounds[at + length * times : at + length * (times + 1)]
            if len(following) < length or [_signature(sync_round) for sync_round in following] != pattern:
                break
            times += 1
        if times > 1:
            return length, times
    return 1, 1


def _signature(sync_round: list[Line]) -> tuple[tuple[str, str, str], ...]:
    return tuple((line.app, line.mark, line.text) for line in sync_round)


def _formatted(line: Line, start: datetime, terminal: Terminal, *, several: bool) -> Iterator[str]:
    mark = terminal.mark(line.mark) if line.mark else " "
    color = {"bad": "red", "good": "green"}.get(line.mark)
    prefix = f"{line.app}: " if several and line.app else ""
    first = f"{elapsed(line.at - start):>9}  {mark} "
    text = one_line(f"{prefix}{line.text}", 600).replace("·", terminal.mark("dot"))
    for number, wrapped in enumerate(terminal.wrap(text, indent=len(first), first=first)):
        yield terminal.paint(wrapped, color) if color and number == 0 and line.mark == "bad" else wrapped
