"""`whysync wait`: wait until apps are Synced and Healthy; explain why if they are not."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.flag_types import seconds
from whysync.cli.output_flags import add_output_flag
from whysync.cli.source_flags import add_source_flags, same_source_flags
from whysync.errors import UsageError
from whysync.reports.output import Out, err, out
from whysync.reports.terminal import Terminal

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.diagnosis.report import Report
    from whysync.wait.goal import Goal
    from whysync.wait.loop import Outcome, PollListener

INTERRUPTED = 130


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="+", help="name or namespace/name")
    verb.add_argument("--sync", action="store_true", help="wait for Synced")
    verb.add_argument("--health", action="store_true", help="wait for Healthy")
    verb.add_argument("--operation", action="store_true", help="wait until no sync is requested or running")
    verb.add_argument("--revision", metavar="SHA", default="", help="wait for this commit")
    verb.add_argument(
        "--interval", metavar="TIME", type=seconds, default=5.0, help="polling interval (default 5s)"
    )
    verb.add_argument(
        "--give-up",
        metavar="TIME",
        type=seconds,
        default=60.0,
        help="fail if an app is Degraded or cannot be compared for this time (default 1m)",
    )
    add_output_flag(
        verb,
        ("text", "wide", "json", "yaml", "markdown"),
        help="output format; progress goes to standard error unless it is text or wide",
    )
    verb.add_argument("--no-proof", action="store_true", help="do not simulate the fixes")
    add_source_flags(verb)
    for action in verb._actions:  # pyright: ignore[reportPrivateUsage]  (argparse has no public way to list them)
        if action.dest == "timeout":  # here it limits the wait, not the requests
            action.default, action.help = 600.0, "time limit of the wait (default 10m)"
    verb.epilog = (
        "whysync wait shop --revision $(git rev-parse HEAD) --timeout 15m\n\n"
        "Without --sync, --health and --operation it waits for all three; --timeout is 10m by default.\n\n"
        "exit codes: 0 reached, 1 failed or timed out (with a diagnosis), 2 an error"
    )


def run(
    options: argparse.Namespace,
    *,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> int:
    from whysync import app
    from whysync.cli.sources import source_of
    from whysync.wait.app_reader import AppReader
    from whysync.wait.loop import Times
    from whysync.wait.loop import wait as waited

    terminal: Terminal = options.terminal
    goal = _goal(options)
    source = source_of(options)
    if "-" in source.bundles:
        raise UsageError(
            what="wait cannot read standard input",
            why="it is read once and does not change",
            next="pass --bundle PATH, which is read again each time, or a live source",
        )
    reader = AppReader(source, options.apps)
    times = Times(timeout=options.timeout, interval=options.interval, unhealthy_timeout=options.give_up)
    listener = _listener(options, terminal, goal)
    try:
        outcome = waited(reader, goal, times, listener, clock=now, pause=pause)
    except KeyboardInterrupt:
        _print_interrupted(options)
        return INTERRUPTED
    if outcome.done:
        _stream(options).say(_reached(outcome, terminal))
        if options.output not in ("text", "wide"):
            _write(options, terminal, app.diagnose(outcome.cases, prove=False))
        return Exit.OK
    _stream(options).say(*_not_reached(outcome, goal, terminal))
    _write(options, terminal, app.diagnose(reader.final_cases(outcome), prove=not options.no_proof))
    return Exit.FOUND


def _goal(options: argparse.Namespace) -> Goal:
    """The goals given as flags, or all of them, as in `argocd app wait`."""
    from whysync.wait.goal import Goal

    revision: str = options.revision.strip()
    if revision and len(revision) < 7 and all(char in "0123456789abcdefABCDEF" for char in revision):
        raise UsageError(
            what=f"commit {revision!r} is too short",
            why="fewer than 7 characters are ambiguous",
            next="pass the full commit: git rev-parse HEAD",
        )
    any_flag = options.sync or options.health or options.operation
    return Goal(
        sync=options.sync or not any_flag,
        health=options.health or not any_flag,
        operation=options.operation or not any_flag,
        revision=revision,
    )


def _listener(options: argparse.Namespace, terminal: Terminal, goal: Goal) -> PollListener:
    from whysync.wait.progress import Frames, Lines

    stream = _stream(options)
    if stream.is_terminal:
        height = shutil.get_terminal_size((80, 24)).lines
        return Frames(stream, terminal, goal, options.timeout, height=height)
    return Lines(stream, terminal)


def _stream(options: argparse.Namespace) -> Out:
    return out() if options.output in ("text", "wide") else err()


def _reached(outcome: Outcome, terminal: Terminal) -> str:
    from whysync.wait.progress import clock

    names = ", ".join(case.app.name for case in outcome.cases)
    mark = terminal.paint(terminal.mark("good"), "green")
    first = outcome.cases[0].app.status
    state = f"{first.sync.status} and {first.health.status}" if len(outcome.cases) == 1 else "done"
    at = f" at {first.sync.revision[:12]}" if len(outcome.cases) == 1 and first.sync.revision else ""
    return f"{mark} {names}: {state}{at}, after {clock(outcome.elapsed)}"


def _not_reached(outcome: Outcome, goal: Goal, terminal: Terminal) -> list[str]:
    from whysync.wait.goal import WaitState
    from whysync.wait.progress import clock

    mark = terminal.paint(terminal.mark("bad"), "red")
    apps = [
        f"{mark} {case.app.name}: {'; '.join(distance.missing)}"
        for case, distance in zip(outcome.cases, outcome.distances, strict=True)
        if distance.state is not WaitState.DONE
    ]
    result = f"not {goal} within" if outcome.timed_out else f"cannot become {goal}; gave up after"
    return [*apps, f"  {result} {clock(outcome.elapsed)}. Why:", ""]


def _write(options: argparse.Namespace, terminal: Terminal, report: Report) -> None:
    from whysync.reports import diagnose_view

    out().put(
        diagnose_view.render(report, terminal, format=options.output, source_flags=same_source_flags(options))
    )


def _print_interrupted(options: argparse.Namespace) -> None:
    names = " ".join(options.apps)
    err().say("", f"interrupted; nothing was changed. See whysync diagnose {names}")
