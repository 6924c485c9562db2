"""`timeout` and CI send SIGTERM: what whysync had started and made goes with it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path
from whysync.cli import run
from whysync.processes.children import Bounds, run as child

def slow(_):
    child(["sh", "-c", "echo $$ > pid; exec sleep 60"], folder=Path.cwd(), env={}, bounds=Bounds())
    return 0

run._run = slow
sys.exit(run.run([]))
"""


def test_a_child_does_not_outlive_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")
    listening = os.open(tmp_path / "pid", os.O_RDWR)
    started = subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=tmp_path)
    assert select.select([listening], [], [], 120)[0], "it never started its child"
    child = int(os.read(listening, 100))
    os.close(listening)
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=50) == 143  # the child would end after 60 s
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
