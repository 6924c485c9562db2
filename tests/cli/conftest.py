from __future__ import annotations

import os

import pytest

from tests.cli.running import Whysync


@pytest.fixture
def whysync(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Whysync:
    """The command line in this process, with an environment that says nothing about it."""
    for name in list(os.environ):
        if name.startswith(("WHYSYNC_", "ARGOCD_", "KUBE")) or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            monkeypatch.delenv(name)
    # argocd's config and the kubeconfig of whoever runs the tests are none of their business
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    return Whysync(capsys, monkeypatch)
