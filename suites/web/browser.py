"""What the suite needs from outside: a Chromium, and axe-core for the accessibility checks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

AXE = "4.14.0"
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


class NotAvailable(Exception):
    """Something that the suite needs is not installed and cannot be."""


def chromium() -> str:
    """The path of Chromium: WHYSYNC_CHROMIUM, or one on PATH."""
    named = os.environ.get("WHYSYNC_CHROMIUM", "")
    found = named or next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if not found:
        raise NotAvailable("no Chromium found: apt-get install chromium, or set WHYSYNC_CHROMIUM")
    return found


def axe_script() -> str:
    """The text of axe-core, downloaded once from the npm registry."""
    file = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "whysync" / f"axe-{AXE}.js"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                subprocess.run(
                    ["npm", "pack", "--silent", f"axe-core@{AXE}"],
                    cwd=folder,
                    check=True,
                    timeout=120,
                    capture_output=True,
                )
            except (OSError, subprocess.SubprocessError) as problem:
                raise NotAvailable(f"axe-core cannot be downloaded with npm: {problem}") from problem
            with tarfile.open(Path(folder) / f"axe-core-{AXE}.tgz") as archive:
                script = archive.extractfile("package/axe.min.js")
                assert script is not None
                file.write_bytes(script.read())
    return file.read_text(encoding="utf-8")
