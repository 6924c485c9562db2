"""One real Argo CD for the whole run, and at its end the figures of what was compared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from suites.argocd.cleaning import Cleaner
from suites.argocd.figures import Figures
from tools.real_argocd.programs import Programs, find_or_build
from tools.real_argocd.running import RealArgoCD, real_argocd
from tools.real_cluster.binaries import NotAvailable

_FIGURES = pytest.StashKey[Figures]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-scenarios", action="store_true", help="play every scenario of the lab")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_FIGURES] = Figures()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    figures = config.stash[_FIGURES]
    if figures.rows:
        terminalreporter.section("the model against Argo CD")
        for line in figures.lines():
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> Figures:
    return pytestconfig.stash[_FIGURES]


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


@pytest.fixture(scope="session")
def cleaner(argocd: RealArgoCD) -> Cleaner:
    return Cleaner(argocd)
