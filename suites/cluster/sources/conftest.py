"""One real API server with Argo CD's kinds, for all tests of live sources."""

from __future__ import annotations

import pytest

from suites.cluster.sources.ground import Ground
from whysync.kubernetes.apiserver.protocol import Cluster


@pytest.fixture(scope="session")
def ground(real: Cluster) -> Ground:
    made = Ground(real)
    made.install()
    return made
