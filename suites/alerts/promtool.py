"""Where promtool comes from: `PROMTOOL`, the PATH, or a build of our own in whysync's cache.

Prometheus is a Go module whose `go.mod` replaces others, so `go install` refuses it: it is built from a small
module that requires it. The service discoveries of the clouds, which no rule needs, are left out.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tools.real_cluster.binaries import NotAvailable, cache_directory

VERSION = "v0.315.0"
"""Of the module; as a program it calls itself 3.15.0."""
_MODULE = f"""\
module whysync.dev/promtool

go 1.26

require github.com/prometheus/prometheus {VERSION}
"""
_USED = """\
package used

import _ "github.com/prometheus/prometheus/promql"
"""


def find_or_build(say: Callable[[str], None]) -> Path:
    installed = os.environ.get("PROMTOOL") or shutil.which("promtool")
    if installed:
        return Path(installed)
    home = cache_directory().parent / f"promtool-{VERSION}"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "promtool").exists():
            _build(home, say)
    return home / "promtool"


def _build(home: Path, say: Callable[[str], None]) -> None:
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if go is None:
        raise NotAvailable(
            "no Go here to build promtool with: install Go 1.26, or set PROMTOOL to a promtool"
        )
    source = home / "source"
    source.mkdir(exist_ok=True)
    (source / "go.mod").write_text(_MODULE, encoding="utf-8")
    (source / "used.go").write_text(_USED, encoding="utf-8")
    say(f"building promtool {VERSION} (once; minutes on two cores) …")
    package = "github.com/prometheus/prometheus/cmd/promtool"
    fresh = home / "promtool.new"
    command = [go, "build", "-mod=mod", "-tags", "remove_all_sd", "-o", str(fresh), package]
    done = subprocess.run(command, cwd=source, env={**os.environ, "GOWORK": "off"}, check=False)
    if done.returncode != 0:
        raise NotAvailable(f"promtool {VERSION} was not built: go ended with {done.returncode}, see above")
    fresh.replace(home / "promtool")
