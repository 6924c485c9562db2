"""A killed run leaves no process, and no folder after the next run; nothing is reachable from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tools.real_argocd.programs import Programs
from tools.real_argocd.running import RealArgoCD, remove_leftovers

_RUN = """
import time
from tools.real_argocd.programs import find_or_build
from tools.real_argocd.running import real_argocd
with real_argocd(find_or_build(print)) as argocd:
    print("home", argocd.home, flush=True)
    time.sleep(3600)
"""
_GONE_SECONDS = 60


def test_a_killed_run_leaves_nothing(programs: Programs) -> None:
    home, process = _killed_run()
    until = time.monotonic() + _GONE_SECONDS
    while (names := _processes_in(home)) and time.monotonic() < until:
        time.sleep(0.1)
    assert names == []
    assert home.name.startswith(f"whysync-argocd-{process}-")
    remove_leftovers()
    assert not home.exists()
    assert programs.argocd.exists()


def _killed_run() -> tuple[Path, int]:
    with subprocess.Popen([sys.executable, "-c", _RUN], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        home = next((Path(line.split()[1]) for line in run.stdout if line.startswith("home ")), None)
        assert home is not None, "it ended while it was starting"
        started = _processes_in(home)
        run.send_signal(signal.SIGKILL)
    assert {"etcd", "kube-apiserver", "kwok", "argocd"} <= set(started), started
    return home, run.pid


def _processes_in(home: Path) -> list[str]:
    """Programs whose working directory is the folder of the run, as that of every child is."""
    names: list[str] = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                inside = os.readlink(process / "cwd").startswith(str(home))
                names += [Path(os.readlink(process / "exe")).name] if inside else []
            except OSError:  # it ended, or belongs to another user
                continue
    return names


def test_nothing_can_be_reached_from_outside(argocd: RealArgoCD) -> None:
    """The application controller serves its metrics on all interfaces: there must be only loopback."""
    lines = Path("/proc/thread-self/net/dev").read_text(encoding="utf-8").splitlines()[2:]
    interfaces = {line.partition(":")[0].strip() for line in lines}
    assert argocd.is_isolated or os.geteuid() != 0
    assert not argocd.is_isolated or interfaces == {"lo"}
