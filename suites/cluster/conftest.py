"""One real API server for the whole run, and at its end the count of what was compared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from suites.cluster.tally import Tally
from tools.real_cluster.binaries import NotAvailable, find_or_build
from tools.real_cluster.running import real_cluster
from whysync.kubernetes.apiserver.protocol import Cluster

_TALLY = pytest.StashKey[Tally]()
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TALLY] = Tally()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    tally = config.stash[_TALLY]
    if tally.compared:
        terminalreporter.section("the model against kube-apiserver")
        for line in tally.lines():
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    return pytestconfig.stash[_TALLY]


@pytest.fixture(scope="session")
def real(pytestconfig: pytest.Config) -> Iterator[Cluster]:
    reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")

    def say(line: str) -> None:
        if isinstance(reporter, pytest.TerminalReporter):
            reporter.write_line(line)

    try:
        binaries = find_or_build(say)
    except NotAvailable as problem:
        pytest.fail(f"no API server to compare with: {problem}")
    with real_cluster(binaries) as client:
        yield client


@pytest.fixture(scope="session")
def names() -> Iterator[str]:
    """Names for namespaces, all of one length, none twice."""

    def counted() -> Iterator[str]:
        for number in range(len(_LETTERS) ** 4):
            digits = ""
            for _ in range(4):
                number, digit = divmod(number, len(_LETTERS))
                digits = _LETTERS[digit] + digits
            yield f"ns{digits}"

    return counted()
