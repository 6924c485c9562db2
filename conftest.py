"""For all suites: in CI a test that is skipped has failed, as nobody reads there why it was."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest


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
