"""For all suites: in CI a skipped test is a failure, since nobody reads there why it was skipped; temporary
folders are in memory where that is possible.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from typing import Any

import pytest

_MEMORY = "/dev/shm"
_ENOUGH = 2 << 30


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Tests create and delete tens of thousands of small files: on a disk that takes ten times as long."""
    if "TMPDIR" not in os.environ and _has_memory():
        os.environ["TMPDIR"] = _MEMORY
        tempfile.tempdir = None


def _has_memory() -> bool:
    """A container may have a small one, or one where no program can be started."""
    if not os.access(_MEMORY, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(_MEMORY)
    return found.f_bavail * found.f_frsize >= _ENOUGH and not found.f_flag & os.ST_NOEXEC


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI"):
        why = call.excinfo.value if call.excinfo else "no reason"
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} is skipped, and in CI none may be: {why}"
    return report
