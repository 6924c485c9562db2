"""The golden of a check, and the command line."""

from __future__ import annotations

import pytest

from tests.cli.running import Whysync


@pytest.fixture
def whysync(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Whysync:
    return Whysync(capsys, monkeypatch)
