"""`whysync list` of a fleet on a real API server: seconds, memory, requests.

python -m suites.cluster.sources.measured [APPS]      (1,000 by default, with 20 live objects each)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from suites.cluster.sources.fleet import (
    deployment,
    namespaces,
    objects,
    scaled_by_hand,
    settings,
    with_last_applied,
)
from suites.cluster.sources.real_cluster import RealCluster
from tools.real_cluster.binaries import find_or_build
from tools.real_cluster.running import real_cluster


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    seconds: float
    # of this process alone: a busy machine stretches the other
    cpu_seconds: float
    memory_mib: float
    output: str
    errors: str
    code: int


def fill(cluster: RealCluster, apps: int) -> None:
    """The fleet, with some Deployments scaled by hand after the sync."""
    cluster.put_all([*settings(), *namespaces(apps)])
    cluster.put_all((with_last_applied(deployment(n)) for n in range(apps)), manager="argocd-controller")
    cluster.put_all(objects(apps))
    for number in scaled_by_hand(apps):
        body = deployment(number)
        cluster.patch(body, {"spec": {"replicas": 5}}, manager="kubectl-edit")


def measured(kubeconfig: Path, *arguments: str) -> Figures:
    """A process of its own, as a person would start it."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _MEASURING, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    errors, _, used = done.stderr.rpartition("USED ")
    peak, cpu = used.split() if used else ("0", "0")
    return Figures(
        seconds=seconds,
        memory_mib=int(peak) / 1024,
        cpu_seconds=float(cpu),
        output=done.stdout,
        errors=errors,
        code=done.returncode,
    )


_MEASURING = """
import resource, sys
from whysync.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as leaving:
    code = leaving.code
used = resource.getrusage(resource.RUSAGE_SELF)
sys.stderr.write(f"USED {used.ru_maxrss} {used.ru_utime + used.ru_stime}")
sys.exit(code)
"""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    apps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory(prefix="whysync-") as home, real_cluster(find_or_build(_say)) as client:
        cluster = RealCluster(client)
        cluster.install()
        began = time.monotonic()
        fill(cluster, apps)
        _say(f"{apps} apps and {apps * 20} objects made in {time.monotonic() - began:.0f} s")
        config = cluster.kubeconfig(Path(home))
        for arguments in (
            ["list", "--core"],
            ["list", "--core", "-o", "json"],
            ["diagnose", "shop-0003", "--core"],
        ):
            before = cluster.requests_served()
            figures = measured(config, *arguments)
            request = cluster.requests_served() - before
            result = {
                "command": " ".join(arguments),
                "seconds": round(figures.seconds, 1),
                "cpu": round(figures.cpu_seconds, 1),
                "MiB": round(figures.memory_mib),
                "requests": request,
                "exit": figures.code,
                "lines": figures.output.count("\n"),
            }
            _say(f"{json.dumps(result)} {figures.errors[-300:]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
