"""A real Alertmanager on loopback: `ALERTMANAGER`, the PATH, or a build of our own in whysync's cache."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tools.real_cluster.binaries import NotAvailable, cache_directory

VERSION = "v0.28.1"
_START_SECONDS = 60
_CONFIG = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


def find_or_build(say: Callable[[str], None]) -> Path:
    installed = os.environ.get("ALERTMANAGER") or shutil.which("alertmanager")
    if installed:
        return Path(installed)
    home = cache_directory().parent / f"alertmanager-{VERSION}"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "alertmanager").exists():
            _build(home, say)
    return home / "alertmanager"


def _build(home: Path, say: Callable[[str], None]) -> None:
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if go is None:
        raise NotAvailable("no Go here to build Alertmanager with: install Go, or set ALERTMANAGER")
    say(f"building Alertmanager {VERSION} (once; minutes on two cores) …")
    module = f"github.com/prometheus/alertmanager/cmd/alertmanager@{VERSION}"
    done = subprocess.run([go, "install", module], env={**os.environ, "GOBIN": str(home)}, check=False)
    if done.returncode != 0:
        raise NotAvailable(
            f"Alertmanager {VERSION} was not built: go ended with {done.returncode}, see above"
        )


@contextmanager
def alertmanager(program: Path, folder: Path) -> Generator[str]:
    """Its address, when it is ready."""
    (folder / "config.yaml").write_text(_CONFIG)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = subprocess.Popen(
        [
            program,
            f"--config.file={folder / 'config.yaml'}",
            f"--storage.path={folder / 'data'}",
            f"--web.listen-address={address}",
            "--cluster.listen-address=",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(f"http://{address}/-/ready", process)
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends:
        assert process.poll() is None, "alertmanager ended"
        try:
            if httpx2.get(url).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError("alertmanager is not ready")
