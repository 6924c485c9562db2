from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests.golden import Golden

# A busy machine is no failure: properties have no deadline. In CI the same examples run every time, so that
# a red run is the change's fault; at home they are new each time.
settings.register_profile("whysync", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("whysync")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write goldens anew instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(accept=bool(request.config.getoption("--accept")))
