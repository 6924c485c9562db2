"""Exit codes. They are public API: scripts and pipelines depend on them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # help and errors do not load the rules
    from whysync.diagnosis.report import Report


class Exit(IntEnum):
    OK = 0  # nothing wrong
    FOUND = 1  # findings of severity --fail-on or higher, or unexplained symptoms
    ERROR = 2  # usage error, or the facts could not be read
    UNSURE = 3  # nothing found, but important facts are missing


def exit_of(report: Report, *, fail_on: str) -> Exit:
    """The exit code of a diagnosis."""
    from whysync.diagnosis.finding import Severity

    weight = Severity(fail_on).weight
    if any(app.unexplained for app in report.apps):
        return Exit.FOUND
    if any(f.severity.weight >= weight for app in report.apps for f in app.findings):
        return Exit.FOUND
    if any(app.is_unsure for app in report.apps):
        return Exit.UNSURE
    return Exit.OK
