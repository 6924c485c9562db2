"""Ctrl-C while a server is silent: an end at once, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.facts.http.faulty import FakeRequest, FakeResponse
from tests.facts.kubernetes_api.fake_api import FakeApi, kubeconfig
from tests.facts.kubernetes_api.reading import serving
from tests.facts.kubernetes_api.world import world


def test_ctrl_c_in_the_middle(tmp_path: Path) -> None:
    api = FakeApi(world())
    silent = threading.Event()

    def answering(request: FakeRequest) -> FakeResponse:
        if "/pods" not in request.target:
            return api(request)
        silent.set()
        return FakeResponse(how="hang")

    with serving(answering) as server:
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig(tmp_path, server.url))}
        going = subprocess.Popen(
            [sys.executable, "-m", "whysync", "list", "--core"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert silent.wait(timeout=120)
        going.send_signal(signal.SIGINT)
        out, err = going.communicate(timeout=25)  # less than the 30 s that it waits for an answer
    assert going.returncode == 130
    assert "Traceback" not in out + err
