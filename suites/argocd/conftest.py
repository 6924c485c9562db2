"""A real Argo CD for each process of the run, and at its end the figures of what was compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from suites.argocd.cleaning import Cleaner
from suites.argocd.figures import Figures
from suites.argocd.playable import unplayable
from tools.real_argocd.programs import Programs, find_or_build
from tools.real_argocd.running import RealArgoCD, real_argocd
from tools.real_cluster.binaries import NotAvailable

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

_FIGURES = pytest.StashKey[Figures]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-scenarios", action="store_true", help="play every scenario of the lab")
    parser.addoption("--results", type=Path, help="append the result of each test to this file, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")  # its reports are sent to the main process
    figures = Figures(results=None if is_worker else config.getoption("--results"))
    config.stash[_FIGURES] = figures
    config.pluginmanager.register(figures, "figures")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Each process has an Argo CD of its own; the one that plays a scenario runs all its tests.

    Other tests of a module are run by one process.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByScenario(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid.partition("[")[2] or nodeid.partition("::")[0]

    return ByScenario(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    figures = config.stash[_FIGURES]
    if figures.rows:
        terminalreporter.section("the model against Argo CD")
        for line in figures.lines():
            terminalreporter.write_line(line)
        if config.getoption("--all-scenarios"):
            for scenario, reason in unplayable().items():
                terminalreporter.write_line(f"not played: {scenario}: {reason}")


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
