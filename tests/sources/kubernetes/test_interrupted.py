"""Ctrl-C while a server is silent: an end at once, and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.sources.kubernetes.fake_api import FakeApi, kubeconfig
from tests.sources.kubernetes.reading import serving
from tests.sources.kubernetes.world import world
from tests.sources.net.faulty import Asked, Says


def test_ctrl_c_in_the_middle(tmp_path: Path) -> None:
    api = FakeApi(world())

    def answering(asked: Asked) -> Says:
        return Says(how="hang") if "/pods" in asked.target else api(asked)

    with serving(answering) as server:
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig(tmp_path, server.url))}
        going = subprocess.Popen(
            [sys.executable, "-m", "whysync.cli.main", "list", "--core"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 20
        while not any("/pods" in asked.target for asked in server.asked) and time.monotonic() < until:
            time.sleep(0.01)
        going.send_signal(signal.SIGINT)
        out, err = going.communicate(timeout=10)
    assert going.returncode == 130
    assert "Traceback" not in out + err
