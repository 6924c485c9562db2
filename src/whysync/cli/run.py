"""Runs one verb: reads the facts, calls the app, writes the report to standard output."""

from __future__ import annotations

import argparse
import io
import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, cast

from whysync.cli.exits import Exit
from whysync.cli.main import VERBS
from whysync.cli.parser import Unfit, parser, verb_module
from whysync.deadline import Deadline
from whysync.errors import Unreadable, WhysyncError
from whysync.reports.output import err, one_safe_line
from whysync.reports.terminal import Terminal


def run(arguments: Sequence[str], *, meant: str = "") -> int:
    """`meant` is the first word as it was typed: an app's name, or perhaps a verb with a slip in it."""
    with _sigterm_like_ctrl_c() as terminated:
        code = _guarded(arguments, meant)
    return 143 if terminated.asked else code


def _guarded(arguments: Sequence[str], meant: str) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except WhysyncError as error:
        _complain(error)
        _suggest_verb(meant)
        return Exit.ERROR
    except KeyboardInterrupt:
        err().say("", "interrupted")
        return 130
    except RecursionError:
        _complain(Unreadable(what="the input is nested too deeply", next="look for what makes it so deep"))
        return Exit.ERROR
    except BrokenPipeError:
        # The reader (head, less) has gone: that is its right, and no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as problem:
        # A fault of ours. Python would end with 1, and to a pipeline that means: something was found.
        logging.getLogger(__name__).debug("whysync failed", exc_info=True)
        _complain(
            WhysyncError(
                what=f"whysync itself failed: {type(problem).__name__}: {problem}",
                why="this is a fault of whysync, not of your input",
                next="run it again with -vv, and report what it prints",
            )
        )
        return Exit.ERROR


class _Terminated:
    """`asked` once somebody has sent the signal."""

    def __init__(self) -> None:
        self.asked = False

    def heard(self, _number: int, frame: FrameType | None) -> None:
        """Whoever listens for Ctrl-C right now, such as an event loop, knows how to stop in order."""
        self.asked = True
        listening = signal.getsignal(signal.SIGINT)
        if callable(listening):
            listening(signal.SIGINT, frame)
        else:  # Ctrl-C is ignored, as behind `nohup`
            raise KeyboardInterrupt


@contextmanager
def _sigterm_like_ctrl_c() -> Generator[_Terminated]:
    """SIGTERM, as `timeout` and CI send it, ends children and removes temporary folders like Ctrl-C."""
    terminated = _Terminated()
    if threading.current_thread() is not threading.main_thread():
        yield terminated
        return
    before = signal.signal(signal.SIGTERM, terminated.heard)
    try:
        yield terminated
    finally:
        signal.signal(signal.SIGTERM, before)


def _complain(error: WhysyncError) -> None:
    terminal = _terminal(sys.stderr.isatty() and "NO_COLOR" not in os.environ)
    why = [f"  why    {error.why}"] if error.why else []
    next = [f"  next   {error.next}"] if error.next else []
    err().say(f"{terminal.paint('whysync:', 'bold', 'red')} {error.what}", *why, *next)


def _suggest_verb(typed: str) -> None:
    """`whysync diagnos` asks for an app of that name, which may exist; where it fails, the slip is likely."""
    from difflib import get_close_matches

    if len(typed) < 2 or typed in VERBS:
        return
    begun = [verb for verb in VERBS if verb.startswith(typed)]
    for verb in begun[:1] or get_close_matches(typed, VERBS, n=1, cutoff=0.75):
        err().say(f"  meant  whysync {verb}? {typed} is no command, so it was taken for an app")


def _terminal(color: bool) -> Terminal:
    encoding = (sys.stdout.encoding or "ascii").lower()
    return Terminal(
        width=shutil.get_terminal_size((80, 24)).columns
        if sys.stdout.isatty() or "COLUMNS" in os.environ
        else 100,
        color=color,
        unicode=encoding.startswith("utf"),
    )


def _run(arguments: Sequence[str]) -> int:
    top = parser(os.environ, verb=arguments[0] if arguments else "")
    if not arguments or list(arguments) == ["help"]:
        top.print_help()
        return Exit.OK if arguments else Exit.ERROR
    if arguments[0] == "help":
        arguments = [*arguments[1:], "--help"]
    options = top.parse_args(arguments)
    for value in vars(options).values():
        if isinstance(value, Unfit):
            raise value.problem
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_SafeLines("%(levelname)s %(name)s: %(message)s"))
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(getattr(options, "verbose", 0), 2)]
    logging.basicConfig(level=level, handlers=[handler])
    _let_speak(getattr(options, "output", ""))
    color = not options.no_color and "NO_COLOR" not in os.environ and _wants_color()
    options.terminal = _terminal(color)
    if getattr(options, "watch", 0):
        from whysync.cli.watch import watch

        return watch(lambda: _once(options), every=options.watch)
    return _once(options)


def _once(options: argparse.Namespace) -> int:
    options.deadline = Deadline.after(getattr(options, "timeout", 0.0))
    return verb_module(options.verb).run(options)


class _SafeLines(logging.Formatter):
    """What is logged may hold values of a cluster, too; a traceback keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the name is logging's)
        return one_safe_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  (the name is logging's)
        return "\n".join(map(one_safe_line, super().formatException(ei).split("\n")))


def _let_speak(format: str) -> None:
    """A terminal that knows fewer letters gets `?` for the others; data is UTF-8 wherever it goes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        out = cast("io.TextIOWrapper", sys.stdout)
        out.reconfigure(
            encoding="utf-8" if format in ("json", "yaml", "patch", "commands") else None, errors="replace"
        )


def _wants_color() -> bool:
    return "FORCE_COLOR" in os.environ or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")
