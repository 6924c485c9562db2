"""`--watch`: the same answer again and again, until Ctrl-C. What did not change is not told twice."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime

from whysync.errors import SourceError, UsageError
from whysync.reports.screen import plain

_HOME = "\x1b[H\x1b[J"


def watch(
    show: Callable[[], int], *, every: float, times: int = 0, pause: Callable[[float], None] = time.sleep
) -> int:
    """On a terminal the page is drawn anew; elsewhere only another page than before is written.

    A server that does not answer for once ends nothing: it is said, and asked again. `times`: at most so
    often, for tests; a person ends it with Ctrl-C.
    """
    shown, code, done = "", 0, 0
    while True:
        page, problem = "", ""
        written = io.StringIO()
        try:
            with redirect_stdout(written):
                code = show()
            page = written.getvalue()
        except UsageError:
            raise
        except SourceError as found:
            if not shown:
                raise  # the first time it is an error like any other
            problem = f"{found.what}; asking again in {every:g} s"
        _draw(page, problem, shown)
        shown = page or shown
        done += 1
        if done == times:
            return code
        pause(every)


def _draw(page: str, problem: str, shown: str) -> None:
    now = f"{datetime.now(UTC):%H:%M:%S} UTC"
    if sys.stdout.isatty():
        note = plain(problem) if problem else "Ctrl-C ends it"
        sys.stdout.write(f"{_HOME}{page or shown}\n{now}   {note}\n")
    elif problem:
        sys.stderr.write(f"whysync: {plain(problem)}\n")
    elif page != shown:
        sys.stdout.write(page if not shown else f"\n--- {now}\n\n{page}")
    sys.stdout.flush()
