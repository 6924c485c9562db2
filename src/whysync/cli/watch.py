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
    last_page, code, runs = Safe(""), 0, 0
    while True:
        page, problem = Safe(""), ""
        try:
            page, code = captured(show)
        except UsageError:
            raise
        except SourceError as error:
            if not last_page:
                raise  # an error of the first run is reported as usual
            problem = f"{error.what}; retrying in {every:g} s"
        _draw(page, problem, last_page)
        last_page = page or last_page
        runs += 1
        if runs == times:
            return code
        pause(every)


def _draw(page: Safe, problem: str, last_page: Safe) -> None:
    now = f"{datetime.now(UTC):%H:%M:%S} UTC"
    if out().is_terminal:
        out().replace_page(page or last_page, "", f"{now}   {problem or 'press Ctrl-C to stop'}")
    elif problem:
        err().say(f"whysync: {problem}")
    elif page != last_page:
        if last_page:
            out().say("", f"--- {now}", "")
        out().put(page)
    sys.stdout.flush()
