from __future__ import annotations

import pytest

from tests.golden import Golden


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write goldens anew instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(accept=bool(request.config.getoption("--accept")))
