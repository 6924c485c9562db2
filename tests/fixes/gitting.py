"""Real git in a folder of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def git_apply(folder: Path, patch: str) -> None:
    """As a person would: in the folder, from standard input, without fuzz."""
    done = subprocess.run(
        ["git", "apply"],
        input=patch.encode("utf-8", "surrogateescape"),
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=300,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )
    assert done.returncode == 0, f"{done.stderr.decode()}\n{patch}"
