"""One promtool for the whole run; where it cannot be had, the suite fails and says why."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from suites.alerts.promtool import find_or_build
from tools.real_cluster.binaries import NotAvailable

Promtool = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def promtool(pytestconfig: pytest.Config) -> Promtool:
    reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")

    def say(line: str) -> None:
        if isinstance(reporter, pytest.TerminalReporter):
            reporter.write_line(line)

    try:
        program: Path = find_or_build(say)
    except NotAvailable as problem:
        pytest.fail(str(problem))

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=120)

    return run
