from __future__ import annotations

import os

import pytest

from tests.cli.running import Whysync


@pytest.fixture
def whysync(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Whysync:
    """The command line in this process, with an environment that says nothing about it."""
    for name in list(os.environ):
        if name.startswith("WHYSYNC_") or name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    return Whysync(capsys, monkeypatch)
