"""Run gitops-engine, Argo CD's own comparison, on the same objects; it is built once where there is a Go.

`python -m benchmarks.gitops_engine` builds it and compares a few objects.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import msgspec

from benchmarks.kubeconform import NotAvailable
from tools.real_cluster.binaries import cache_directory
from whysync.json_tree import Object

MODULE = "github.com/argoproj/gitops-engine@v0.7.1-0.20251217140045-5baed5604d2d"
_SOURCE = Path(__file__).with_suffix(".go.txt")
_COMMAND = "whysync_benchmark"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the pairs differ, and the processor seconds on one core."""

    pairs: int
    modified: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.pairs / self.seconds if self.seconds else 0.0


def compared(pairs: list[tuple[Object, Object]]) -> Result:
    """Compare desired and live objects; raises `NotAvailable`."""
    lines = "\n".join(json.dumps({"desired": desired, "live": live}) for desired, live in pairs)
    done = subprocess.run([str(_program())], input=lines.encode(), capture_output=True, check=False)
    if done.returncode:
        raise NotAvailable(f"gitops-engine failed: {done.stderr.decode()[-200:].strip()}")
    return msgspec.json.decode(done.stdout, type=Result)


def _program() -> Path:
    home = cache_directory().parent / "gitops-engine" / MODULE.rpartition("@")[2]
    program = home / "compare"
    main_file = home / "source" / _COMMAND / "main.go"
    if program.exists() and main_file.exists() and main_file.read_bytes() == _SOURCE.read_bytes():
        return program
    go = shutil.which("go")
    if go is None:
        raise NotAvailable("gitops-engine is not measured: there is no Go to build it with")
    source = main_file.parents[1]
    if not source.exists():
        shutil.copytree(_downloaded(go), source, copy_function=shutil.copyfile)
        for path in (source, *source.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    program.unlink(missing_ok=True)
    main_file.parent.mkdir(exist_ok=True)
    shutil.copyfile(_SOURCE, main_file)
    # Its own go.mod has the versions of the Kubernetes libraries.
    _go(go, "build", "-o", str(program), f"./{_COMMAND}", folder=source)
    return program


def _downloaded(go: str) -> Path:
    found = json.loads(_go(go, "mod", "download", "-json", MODULE, folder=Path.cwd()))
    return Path(found["Dir"])


def _go(go: str, *arguments: str, folder: Path) -> str:
    environment = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false"}
    done = subprocess.run(
        [go, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotAvailable(f"gitops-engine is not measured: {done.stderr.strip()[-200:]}")
    return done.stdout


def main() -> None:
    from benchmarks.compare import pairs

    for differing in (False, True):
        print(compared(pairs(400, differing=differing)), flush=True)


if __name__ == "__main__":
    main()
