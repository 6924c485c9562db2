from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.ci.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    return Machine(tmp_path / "machine")
