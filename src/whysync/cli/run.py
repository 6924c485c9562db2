"""Runs a verb: parses the command line, handles errors and signals, and returns the exit code."""

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

from whysync.cli.exits import INTERRUPTED, Exit
from whysync.cli.main import VERBS
from whysync.cli.parser import InvalidVariable, parser, verb_module
from whysync.deadline import Deadline
from whysync.errors import Unreadable, WhysyncError
from whysync.reports.output import err, one_safe_line
from whysync.reports.terminal import Terminal


def run(arguments: Sequence[str], *, first_word: str = "") -> int:
    """`first_word` as it was typed: the name of an app, or a mistyped verb."""
    with _sigterm_as_ctrl_c() as sigterm:
        code = _run_with_error_messages(arguments, first_word)
    return 143 if sigterm.received else code


def _run_with_error_messages(arguments: Sequence[str], first_word: str) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except WhysyncError as error:
        _print_error(error)
        _suggest_verb(first_word)
        return Exit.ERROR
    except KeyboardInterrupt:
        err().say("", "interrupted")
        return INTERRUPTED
    except RecursionError:
        _print_error(Unreadable(what="the input is nested too deeply", next="check the input"))
        return Exit.ERROR
    except BrokenPipeError:
        # The reader (head, less) has ended, which is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as problem:
        # A bug. Python would exit with 1, which means "something was found" to a pipeline.
        logging.getLogger(__name__).debug("whysync failed", exc_info=True)
        _print_error(
            WhysyncError(
                what=f"internal error: {type(problem).__name__}: {problem}",
                why="this is a bug in whysync, not in your input",
                next="run it again with -vv, and report the output",
            )
        )
        return Exit.ERROR


class _Sigterm:
    """Whether SIGTERM was received."""

    def __init__(self) -> None:
        self.received = False

    def handle(self, _number: int, frame: FrameType | None) -> None:
        """Call the handler of Ctrl-C, such as that of an event loop, which stops in order."""
        self.received = True
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:  # Ctrl-C is ignored, as with `nohup`
            raise KeyboardInterrupt


@contextmanager
def _sigterm_as_ctrl_c() -> Generator[_Sigterm]:
    """Handle SIGTERM, which `timeout` and CI send, like Ctrl-C: end children, remove temporary folders."""
    sigterm = _Sigterm()
    if threading.current_thread() is not threading.main_thread():
        yield sigterm
        return
    previous = signal.signal(signal.SIGTERM, sigterm.handle)
    try:
        yield sigterm
    finally:
        signal.signal(signal.SIGTERM, previous)


def _print_error(error: WhysyncError) -> None:
    terminal = _terminal(sys.stderr.isatty() and "NO_COLOR" not in os.environ)
    why = [f"  why    {error.why}"] if error.why else []
    next = [f"  next   {error.next}"] if error.next else []
    err().say(f"{terminal.paint('whysync:', 'bold', 'red')} {error.what}", *why, *next)


def _suggest_verb(typed: str) -> None:
    """Suggest a verb after an error: `whysync diagnos` is read as the name of an app."""
    from difflib import get_close_matches

    if len(typed) < 2 or typed in VERBS:
        return
    completions = [verb for verb in VERBS if verb.startswith(typed)]
    for verb in completions[:1] or get_close_matches(typed, VERBS, n=1, cutoff=0.75):
        err().say(f"  hint   did you mean whysync {verb}? {typed} is not a command and was read as an app")


def _terminal(color: bool) -> Terminal:
    encoding = (sys.stdout.encoding or "ascii").lower()
    has_width = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Terminal(
        width=shutil.get_terminal_size((80, 24)).columns if has_width else 100,
        piped=not has_width,
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
        if isinstance(value, InvalidVariable):
            raise value.error
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_SafeLines("%(levelname)s %(name)s: %(message)s"))
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(getattr(options, "verbose", 0), 2)]
    logging.basicConfig(level=level, handlers=[handler])
    _set_encoding(getattr(options, "output", ""))
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
    """A log formatter that removes control characters; a traceback keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the name is logging's)
        return one_safe_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802  (the name is logging's)
        return "\n".join(map(one_safe_line, super().formatException(ei).split("\n")))


def _set_encoding(format: str) -> None:
    """Print `?` for characters that the terminal does not support; machine-readable output is UTF-8."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        out = cast("io.TextIOWrapper", sys.stdout)
        out.reconfigure(
            encoding="utf-8" if format in ("json", "yaml", "html", "patch", "commands") else None,
            errors="replace",
        )


def _wants_color() -> bool:
    return "FORCE_COLOR" in os.environ or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")
