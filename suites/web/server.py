"""A `whysync serve` process for a folder of facts."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(*arguments: str | Path) -> Generator[str]:
    """The address of a server that runs until the end of the block."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "whysync",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--db",
            ":memory:",
            *map(str, arguments),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        address = re.search(r"http://\S+", line)
        assert address is not None, line + process.stderr.read()
        yield address.group()
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()
            process.stderr.close()
