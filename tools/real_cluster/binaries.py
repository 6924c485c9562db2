"""Find kube-apiserver and etcd: in KUBEBUILDER_ASSETS, on the PATH, in the cache, or by building them.

No package registry has kube-apiserver as a program, but its source is a Go module. It is built once for each
pair of versions, in a cache outside the work tree; later runs use the cached files.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.real_cluster.modules import ETCD, KUBERNETES, NEEDS_GO, Module

MINOR = KUBERNETES.version.rsplit(".", 1)[0]
"""`v1.36`: a kube-apiserver of another minor version answers in other words, and is not used."""

Say = Callable[[str], None]


class NotAvailable(Exception):
    """The programs are not available and cannot be built; the message is what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    apiserver: Path
    etcd: Path
    controller_manager: Path | None = None
    scheduler: Path | None = None


def find_or_build(say: Say, *, controllers: bool = False) -> Binaries:
    """The programs, from the first of: `KUBEBUILDER_ASSETS`, the PATH, the cache, a build into the cache.

    With `controllers`, kube-controller-manager and kube-scheduler as well.
    """
    existing = _given() or _on_path()
    if existing is not None and (
        not controllers or None not in (existing.controller_manager, existing.scheduler)
    ):
        return existing
    programs = [(KUBERNETES, "kube-apiserver"), (ETCD, "etcd")]
    if controllers:
        programs += [(KUBERNETES, "kube-controller-manager"), (KUBERNETES, "kube-scheduler")]
    home = cache_directory()
    if not all((home / program).exists() for _, program in programs):
        with building_in(home, say):
            for module, program in programs:
                ensure_built(home, module, program, say)
    return _in(home)


def cache_directory() -> Path:
    """The cache, named after the versions: a new version is a new build, and the old one stays usable."""
    own = os.environ.get("WHYSYNC_CACHE")
    if own:
        base = Path(own)
    else:
        shared = os.environ.get("XDG_CACHE_HOME")
        base = (Path(shared) if shared else Path.home() / ".cache") / "whysync"
    return base / f"kubernetes-{KUBERNETES.version}-etcd-{ETCD.version}"


def _given() -> Binaries | None:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        return None
    apiserver, etcd = Path(folder) / "kube-apiserver", Path(folder) / "etcd"
    for program in (apiserver, etcd):
        if not program.is_file():
            raise NotAvailable(f"KUBEBUILDER_ASSETS names {folder}, which has no {program.name}")
    _check_version(apiserver)
    return _in(Path(folder))


def _on_path() -> Binaries | None:
    apiserver, etcd = shutil.which("kube-apiserver"), shutil.which("etcd")
    if apiserver is None or etcd is None:
        return None
    try:
        _check_version(Path(apiserver))
    except NotAvailable:
        return None
    manager, scheduler = shutil.which("kube-controller-manager"), shutil.which("kube-scheduler")
    return Binaries(
        apiserver=Path(apiserver),
        etcd=Path(etcd),
        controller_manager=Path(manager) if manager else None,
        scheduler=Path(scheduler) if scheduler else None,
    )


def _in(folder: Path) -> Binaries:
    manager, scheduler = folder / "kube-controller-manager", folder / "kube-scheduler"
    return Binaries(
        apiserver=folder / "kube-apiserver",
        etcd=folder / "etcd",
        controller_manager=manager if manager.is_file() else None,
        scheduler=scheduler if scheduler.is_file() else None,
    )


def _check_version(apiserver: Path) -> None:
    version = _version(apiserver)
    if MINOR not in version:
        raise NotAvailable(f"{apiserver} says {version!r}; the model is compared with {MINOR}")


def _version(program: Path, arguments: tuple[str, ...] = ("--version",)) -> str:
    try:
        process = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{program.name} does not start: {problem}"
    return (process.stdout or process.stderr).strip()


@contextmanager
def building_in(home: Path, say: Say) -> Generator[None]:
    """Create the folder and lock it, so that two concurrent runs build only once."""
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise NotAvailable(
            f"{home} cannot be made: {problem}; set WHYSYNC_CACHE to a directory that can"
        ) from None
    with (home / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run is building; waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ensure_built(home: Path, module: Module, program: str, say: Say) -> None:
    """Build a program from a `go.mod` that requires its module, unless `home` has it."""
    if (home / program).exists():
        return
    source = home / "source" / module.name
    source.mkdir(parents=True, exist_ok=True)
    for name, content in module.files().items():
        (source / name).write_text(content, encoding="utf-8")
    build = GoBuild(
        program=program,
        version=module.version,
        source=source,
        package=module.packages[program],
        flags=module.flags(),
        version_arguments=module.version_arguments,
    )
    build.into(home, say)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoBuild:
    """One `go build` of a program that can print its version."""

    program: str
    version: str
    source: Path
    package: str
    flags: str
    version_arguments: tuple[str, ...] = ("--version",)

    def into(self, home: Path, say: Say) -> None:
        """Build to a file of another name and rename it when it works, so that a killed build leaves none."""
        fresh = home / f"{self.program}.new"
        say(f"building {self.program} {self.version} (once; minutes on two cores) …")
        start = time.monotonic()
        command = [
            go_command(),
            "build",
            "-mod=mod",
            "-ldflags",
            self.flags,
            "-o",
            str(fresh),
            self.package,
        ]
        environment = {**os.environ, "GOWORK": "off", "CGO_ENABLED": "0"}
        with subprocess.Popen(command, cwd=self.source, env=environment) as build:
            try:
                while True:
                    try:
                        code = build.wait(timeout=60)
                        break
                    except subprocess.TimeoutExpired:
                        say(f"  … still building {self.program}, {time.monotonic() - start:.0f} s")
            except BaseException:
                build.terminate()
                raise
        if code != 0:
            raise NotAvailable(
                f"{self.program} {self.version} was not built: go ended with {code}, see above"
            )
        version = _version(fresh, self.version_arguments)
        if self.version.removeprefix("v") not in version:
            raise NotAvailable(f"{self.program} was built, but says {version!r}")
        fresh.replace(home / self.program)
        say(f"built {self.program} in {time.monotonic() - start:.0f} s: {home / self.program}")


def go_command() -> str:
    """The path of a Go that can build Kubernetes."""
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    advice = (
        f"install Go {NEEDS_GO} or newer (https://go.dev/dl; Debian: golang-go of backports), or set "
        f"KUBEBUILDER_ASSETS to a directory with kube-apiserver {MINOR} and etcd"
    )
    if go is None:
        raise NotAvailable(f"no Go here to build kube-apiserver with: {advice}")
    text = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=False
    ).stdout.strip()
    has = re.match(r"go(\d+)\.(\d+)", text)
    major, minor = (int(has[1]), int(has[2])) if has else (0, 0)
    needed = tuple(int(part) for part in NEEDS_GO.split("."))
    # Since 1.21, Go downloads a newer toolchain if the settings permit it.
    fetches = (major, minor) >= (1, 21) and os.environ.get("GOTOOLCHAIN", "auto") != "local"
    if (major, minor) < needed and not fetches:
        raise NotAvailable(f"{text or 'this Go'} is too old for Kubernetes {KUBERNETES.version}: {advice}")
    return go
