"""`timeout` and CI send SIGTERM: what whysync had started and made goes with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path
from whysync.cli import run
from whysync.sources.children import Bounds, run as child

def slow(_):
    child(["sh", "-c", "echo $$ > pid; exec sleep 60"], folder=Path.cwd(), env={}, bounds=Bounds())
    return 0

run._run = slow
sys.exit(run.run([]))
"""


def test_a_child_does_not_outlive_it(tmp_path: Path) -> None:
    started = subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=tmp_path)
    said, until = tmp_path / "pid", time.monotonic() + 30
    while not (said.exists() and said.read_text().strip()) and time.monotonic() < until:
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=20) == 143
    try:
        os.kill(int(said.read_text()), 0)
    except ProcessLookupError:
        return
    raise AssertionError("the child is still there")
