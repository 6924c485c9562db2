"""A machine of CI: a shop in a repository, `whysync` and `python` on the PATH, and a small environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.plan.shop import CONFIG, HOOK, SERVICE, Shop
from tests.situations import ROOT

WRONG = CONFIG.replace("\ndata:", "\ndta:").replace("name: shop", "name: wrong")
"""Something for lint; no Application deploys it."""


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str


class Machine:
    """The checkout is on a branch whose commit lint and plan have something to say about."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self._put("whysync", f'exec {sys.executable} -m whysync "$@"')
        self._put("python", f'exec {sys.executable} "$@"')
        self.shop = Shop(folder / "checkout")
        self.base = self.shop.git("rev-parse", "main")
        self.head = self.shop.commit({"apps/shop/hook.yaml": HOOK, "apps/other/wrong.yaml": WRONG})

    def mend(self) -> None:
        """A commit about which there is nothing to say."""
        self.shop.git("reset", "-q", "--hard", "main")
        more = SERVICE.replace("name: shop", "name: more")
        self.head = self.shop.commit({"apps/shop/more.yaml": more})

    def _put(self, name: str, line: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{line}\n")
        (self.bin / name).chmod(0o755)

    def __call__(self, *command: str, **environ: str) -> Done:
        return self.run(command, environ)

    def run(
        self, command: tuple[str, ...], environ: Mapping[str, str], *, folder: Path | None = None
    ) -> Done:
        done = subprocess.run(
            list(command),
            cwd=folder or self.shop.folder,
            env={
                "PATH": f"{self.bin}:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "PYTHONPATH": str(ROOT / "src"),
                "PYTHONIOENCODING": "utf-8",
                "GIT_CONFIG_NOSYSTEM": "1",
                **environ,
            },
            capture_output=True,
            check=False,
            timeout=300,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
