"""One real API server with Argo CD's kinds, for all tests of live sources."""

from __future__ import annotations

import pytest

from suites.cluster.sources.real_cluster import RealCluster
from whysync.kubernetes.apiserver.protocol import Cluster


@pytest.fixture(scope="session")
def cluster(real: Cluster) -> RealCluster:
    cluster = RealCluster(real)
    cluster.install()
    return cluster
