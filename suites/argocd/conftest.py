"""One real Argo CD for the whole run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tools.real_argocd.programs import Programs, find_or_build
from tools.real_argocd.running import RealArgoCD, real_argocd
from tools.real_cluster.binaries import NotAvailable


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> Programs:
    reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")

    def say(line: str) -> None:
        if isinstance(reporter, pytest.TerminalReporter):
            reporter.write_line(line)

    try:
        return find_or_build(say)
    except NotAvailable as problem:
        pytest.fail(f"no Argo CD to compare with: {problem}")


@pytest.fixture(scope="session")
def argocd(programs: Programs) -> Iterator[RealArgoCD]:
    with real_argocd(programs) as running:
        yield running
