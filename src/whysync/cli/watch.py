"""`--watch`: the same answer again and again, until Ctrl-C. What did not change is not told twice."""

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
    """On a terminal the page is drawn anew; elsewhere only another page than before is written.

    A server that does not answer for once ends nothing: it is said, and asked again. `times`: at most so
    often, for tests; a person ends it with Ctrl-C.
    """
    shown, code, done = Safe(""), 0, 0
    while True:
        page, problem = Safe(""), ""
        try:
            page, code = captured(show)
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


def _draw(page: Safe, problem: str, shown: Safe) -> None:
    now = f"{datetime.now(UTC):%H:%M:%S} UTC"
    if out().is_terminal:
        out().replace_page(page or shown, "", f"{now}   {problem or 'Ctrl-C ends it'}")
    elif problem:
        err().say(f"whysync: {problem}")
    elif page != shown:
        if shown:
            out().say("", f"--- {now}", "")
        out().put(page)
    sys.stdout.flush()
