from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.clock import SteadyLoop, steady_time
from tests.golden import Golden
from whysync import deadline
from whysync.facts.http import rate_limit, retry
from whysync.lab.library import names

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

HERE = Path(__file__).parent

# A busy machine is no failure: properties have no deadline. In CI the same examples run every time, so that
# a red run is the change's fault; at home they are new each time.
settings.register_profile("whysync", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("whysync")


@pytest.hookimpl(optionalhook=True)  # without xdist there is nobody to ask
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Two processes share the tests, and what is computed once shall be so in one of them only.

    So all tests about one scenario of the lab go together, and else those of one file.
    """
    from xdist.scheduler import LoadScopeScheduling

    scenarios = frozenset(names())
    config.option.loadscopereorder = False

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            case = test.partition("[")[2].removesuffix("]")
            return case if case in scenarios else file

    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What looks at all of whysync takes longest, and begins first: in the end nobody waits for it."""
    items.sort(key=lambda item: item.path.parent != HERE)


def pytest_collection_finish() -> None:
    """Make garbage collection rare: it took a tenth of all processor time.

    The collected tests and the scenarios that they share live until the end.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write goldens anew instead of comparing")


@pytest.fixture(scope="session", autouse=True)
def _no_timeout_because_the_machine_is_busy() -> Generator[None]:
    """Timeouts of the network are measured with the clock of `tests/clock.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.events, "new_event_loop", SteadyLoop)
        for module in (deadline, rate_limit, retry):
            patch.setattr(module, "time", steady_time)
        yield


@pytest.fixture(scope="session", autouse=True)
def _children_can_be_interrupted() -> Generator[None]:
    """A background job of a shell script ignores SIGINT, and so would every process that a test starts."""
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, inherited)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(accept=bool(request.config.getoption("--accept")))
