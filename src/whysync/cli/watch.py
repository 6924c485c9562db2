"""`--watch`: repeat a command until Ctrl-C, and print the output when it changes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

from whysync.errors import SourceError, UsageError
from whysync.reports.output import Safe, captured, err, out


def watch(
    show: Callable[[], int], *, every: float, times: int = 0, pause: Callable[[float], None] = time.sleep
) -> int:
    """Run `show` at this interval: redraw a terminal, or write the output to a pipe when it has changed.

    After an error of the source it is tried again. `times` limits the number of runs in tests.
    """
    shown, code, done = Safe(""), 0, 0
    while True:
        page, problem = Safe(""), ""
        try:
            page, code = captured(show)
        except UsageError:
            raise
        except SourceError as error:
            if not shown:
                raise  # an error of the first run is reported as usual
            problem = f"{error.what}; retrying in {every:g} s"
        _draw(page, problem, shown)
        shown = page or shown
        done += 1
        if done == times:
            return code
        pause(every)


def _draw(page: Safe, problem: str, shown: Safe) -> None:
    now = f"{datetime.now(UTC):%H:%M:%S} UTC"
    if out().is_terminal:
        out().replace_page(page or shown, "", f"{now}   {problem or 'press Ctrl-C to stop'}")
    elif problem:
        err().say(f"whysync: {problem}")
    elif page != shown:
        if shown:
            out().say("", f"--- {now}", "")
        out().put(page)
    sys.stdout.flush()
