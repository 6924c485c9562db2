"""Exit codes. They are public API: scripts and pipelines depend on them."""

from __future__ import annotations

import argparse
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # help and errors do not load the rules
    from whysync.diagnosis.report import Report


INTERRUPTED = 130
"""As shells report a program that Ctrl-C ended."""


class Exit(IntEnum):
    OK = 0  # nothing wrong
    FOUND = 1  # findings of severity --fail-on or higher, or unexplained symptoms
    ERROR = 2  # usage error, or the facts could not be read
    UNSURE = 3  # nothing found, but important facts are missing


def exit_code(report: Report, options: argparse.Namespace) -> int:
    """The exit code of `list` and `diagnose`; after Ctrl-C the message says what is missing."""
    from whysync.reports.output import err

    if report.interrupted:
        missing = f": {report.unfinished:,} apps were not diagnosed" if report.unfinished else ""
        err().say(f"interrupted{missing}")
        return INTERRUPTED
    return Exit.OK if options.exit_zero else exit_of(report, fail_on=options.fail_on)


def exit_of(report: Report, *, fail_on: str) -> Exit:
    """The exit code of a diagnosis."""
    from whysync.diagnosis.finding import Severity

    weight = Severity(fail_on).weight
    if any(app.unexplained or app.not_understood for app in report.apps):
        return Exit.FOUND
    if any(f.severity.weight >= weight for app in report.apps for f in app.findings):
        return Exit.FOUND
    if any(app.is_unsure for app in report.apps):
        return Exit.UNSURE
    return Exit.OK
