"""Exit codes are public API: scripts and pipelines branch on them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # help and errors must not wait for the rules to load
    from whysync.diagnosis.report import Report


class Exit(IntEnum):
    OK = 0  # nothing wrong
    FOUND = 1  # findings at or above --fail-on, or symptoms that nothing explains
    ERROR = 2  # bad usage, or the facts could not be read at all
    UNSURE = 3  # nothing found, but evidence that matters was missing


def exit_of(report: Report, *, fail_on: str) -> Exit:
    """The first that holds, in the order of the documentation."""
    from whysync.diagnosis.finding import Severity

    weight = Severity(fail_on).weight
    if any(app.unexplained for app in report.apps):
        return Exit.FOUND
    if any(f.severity.weight >= weight for app in report.apps for f in app.findings):
        return Exit.FOUND
    if any(app.is_unsure for app in report.apps):
        return Exit.UNSURE
    return Exit.OK
