"""The tools, installed once into whysync's cache; where that cannot be, the suite fails and says why."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.golden import Golden
from whysync.argocd.repo_server.git.repo import cache_folder
from whysync.argocd.repo_server.render.options import RenderOptions
from whysync.argocd.repo_server.render.tools import install, tools_folder
from whysync.errors import SourceError

_JSONNET = "gojsonnet==0.22.0"


def pytest_addoption(parser: pytest.Parser) -> None:
    with suppress(ValueError):  # run together with tests/, which has it already
        parser.addoption("--accept", action="store_true", help="write goldens anew instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(accept=bool(request.config.getoption("--accept")))


@pytest.fixture(scope="session")
def options() -> RenderOptions:
    try:
        install()
    except SourceError as problem:
        pytest.fail(f"{problem.what}: {problem.why}")
    return RenderOptions(tools=tools_folder())


@pytest.fixture(scope="session")
def jsonnet() -> str:
    """A folder with the engine of Jsonnet, for the path of a child."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder = cache_folder() / "tools" / f"{_JSONNET}-{version}"
    if not any(folder.glob("_gojsonnet*")):
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(folder),
            _JSONNET,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.fail(f"{_JSONNET} cannot be installed: {done.stderr.strip()[-300:]}")
    return str(folder)


CASES = sorted(path for path in (Path(__file__).parent / "cases").iterdir() if path.is_dir())
