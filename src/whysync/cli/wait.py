"""`whysync wait`: until apps are synced, healthy and done; else why they are not."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from whysync import app
from whysync.cli.exits import Exit
from whysync.cli.filters import place_of
from whysync.cli.source_flags import same_place
from whysync.deadline import Deadline
from whysync.diagnosis.case import Case
from whysync.diagnosis.report import Report
from whysync.errors import SourceError, UsageError
from whysync.reports import json_v1, markdown, terminal
from whysync.reports.json_yaml import as_json, as_yaml
from whysync.reports.output import Out, err, out
from whysync.reports.screen import Screen
from whysync.wait.goal import Goal, Standing
from whysync.wait.loop import Outcome, Times, Watcher
from whysync.wait.loop import wait as waited
from whysync.wait.progress import Frames, Lines, clock

INTERRUPTED = 130


def wait(
    options: argparse.Namespace,
    screen: Screen,
    *,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> int:
    goal = _goal(options)
    place = place_of(options)
    if "-" in place.bundles:
        raise UsageError(
            what="standard input is read once and cannot change",
            next="give --bundle PATH, which is read again each time, or a live source",
        )
    looks = _Looks(place, options.apps)
    times = Times(timeout=options.timeout, interval=options.interval, patience=options.give_up)
    watcher = _watcher(options, screen, goal)
    try:
        outcome = waited(looks, goal, times, watcher, clock=now, pause=pause)
    except KeyboardInterrupt:
        _say_goodbye(options)
        return INTERRUPTED
    if outcome.done:
        _stream(options).say(_well(outcome, screen))
        if options.output not in ("text", "wide"):
            _write(options, screen, app.diagnose(outcome.cases, prove=False))
        return Exit.OK
    _stream(options).say(*_ill(outcome, goal, screen))
    _write(options, screen, app.diagnose(looks.closely(outcome), prove=not options.no_proof))
    return Exit.FOUND


class _Looks:
    """Each look asks anew, without logs; the last one, for the diagnosis, with all there is."""

    def __init__(self, place: app.FactSource, names: Sequence[str]) -> None:
        self._place = place
        self._names = names
        self._first = True

    def __call__(self, left: float) -> tuple[Case, ...]:
        place = _within(self._place, left)
        if place.wanted is not None:
            refresh = place.wanted.refresh if self._first else ""
            place = replace(place, wanted=replace(place.wanted, logs=False, refresh=refresh))
        found = app.cases(app.read(place), self._names)
        self._first = False
        return found

    def closely(self, outcome: Outcome) -> tuple[Case, ...]:
        """Of the apps that are not there; what was seen last, if the source is silent now."""
        place = self._place
        if place.wanted is not None:
            place = replace(_within(place, 120.0), wanted=replace(place.wanted, refresh=""))
        late = [
            case.app.qualified_name
            for case, apart in zip(outcome.cases, outcome.apart, strict=True)
            if apart.standing is not Standing.DONE
        ]
        try:
            return app.cases(app.read(place), late)
        except SourceError:
            return tuple(case for case in outcome.cases if case.app.qualified_name in late)


def _within(place: app.FactSource, seconds: float) -> app.FactSource:
    """A server that hangs must not make the waiting longer than was asked for."""
    server, kube, deadline = place.server, place.kube, Deadline.after(seconds)
    if server is not None:
        server = replace(server, limits=replace(server.limits, deadline=deadline))
    if kube is not None:
        kube = replace(kube, limits=replace(kube.limits, deadline=deadline))
    return replace(place, server=server, kube=kube)


def _goal(options: argparse.Namespace) -> Goal:
    """As `argocd app wait`: those that are named, or all of them."""
    revision: str = options.revision.strip()
    if revision and len(revision) < 7 and all(letter in "0123456789abcdefABCDEF" for letter in revision):
        raise UsageError(
            what=f"{revision!r} is too short for a commit",
            why="fewer than 7 letters may be the beginning of several",
            next="give the whole commit: git rev-parse HEAD",
        )
    named = options.sync or options.health or options.operation
    return Goal(
        sync=options.sync or not named,
        health=options.health or not named,
        operation=options.operation or not named,
        revision=revision,
    )


def _watcher(options: argparse.Namespace, screen: Screen, goal: Goal) -> Watcher:
    stream = _stream(options)
    if stream.is_terminal:
        height = shutil.get_terminal_size((80, 24)).lines
        return Frames(stream, screen, goal, options.timeout, height=height)
    return Lines(stream, screen)


def _stream(options: argparse.Namespace) -> Out:
    return out() if options.output in ("text", "wide") else err()


def _well(outcome: Outcome, screen: Screen) -> str:
    names = ", ".join(case.app.name for case in outcome.cases)
    mark = screen.paint(screen.mark("good"), "green")
    first = outcome.cases[0].app.status
    state = f"{first.sync.status} and {first.health.status}" if len(outcome.cases) == 1 else "there"
    at = f" at {first.sync.revision[:12]}" if len(outcome.cases) == 1 and first.sync.revision else ""
    return f"{mark} {names}: {state}{at}, after {clock(outcome.elapsed)}"


def _ill(outcome: Outcome, goal: Goal, screen: Screen) -> list[str]:
    mark = screen.paint(screen.mark("bad"), "red")
    told = [
        f"{mark} {case.app.name}: {'; '.join(apart.missing)}"
        for case, apart in zip(outcome.cases, outcome.apart, strict=True)
        if apart.standing is not Standing.DONE
    ]
    how = f"not {goal} within" if outcome.timed_out else f"will not get to {goal}; gave up after"
    return [*told, f"  {how} {clock(outcome.elapsed)}. Why:", ""]


def _write(options: argparse.Namespace, screen: Screen, report: Report) -> None:
    match options.output:
        case "json":
            text = as_json(json_v1.report_v1(report))
        case "yaml":
            text = as_yaml(json_v1.report_v1(report))
        case "markdown":
            text = markdown.render(report)
        case form:
            text = terminal.render(report, screen, wide=form == "wide", place=same_place(options))
    out().put(text)


def _say_goodbye(options: argparse.Namespace) -> None:
    names = " ".join(options.apps)
    err().say("", f"no longer waiting; nothing was changed. whysync diagnose {names} says how it stands")
