"""The runner of commits, and at the end how many refusals the plans predicted."""

from __future__ import annotations

import pytest

from suites.cluster.planning.commit_runner import CommitRunner
from suites.cluster.planning.judging import Score
from suites.cluster.planning.known import known_differences
from suites.cluster.sources.real_cluster import RealCluster
from whysync.kubernetes.apiserver.protocol import Cluster

_SCORE = pytest.StashKey[Score]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SCORE] = Score(known_differences())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    score = config.stash.get(_SCORE, None)
    if score is not None and score.syncs:
        terminalreporter.section("plans against what then happened")
        for line in score.lines():
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def score(pytestconfig: pytest.Config) -> Score:
    if _SCORE not in pytestconfig.stash:
        pytestconfig.stash[_SCORE] = Score(known_differences())
    return pytestconfig.stash[_SCORE]


@pytest.fixture(scope="session")
def runner(real: Cluster, tmp_path_factory: pytest.TempPathFactory) -> CommitRunner:
    cluster = RealCluster(real)
    cluster.install()
    home = tmp_path_factory.mktemp("planning")
    return CommitRunner(home / "checkout", real, str(cluster.kubeconfig(home)))
