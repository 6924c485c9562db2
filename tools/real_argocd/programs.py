"""Find or build what a real Argo CD needs: itself, a cluster, Redis, Git, Helm and Kustomize.

Argo CD is built from its Go module. Its `go.mod` replaces other modules, and replacements do not apply to
dependents, so the module is copied to the cache and built there as the main module, with its gitops-engine in
the folder that the `go.mod` names. One binary contains all components. `WHYSYNC_ARGOCD` names another binary.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.real_cluster.binaries import (
    Binaries,
    GoBuild,
    NotAvailable,
    Say,
    building_in,
    cache_directory,
    ensure_built,
    go_command,
)
from tools.real_cluster.binaries import find_or_build as find_or_build_cluster
from tools.real_cluster.modules import KWOK
from whysync.argocd.repo_server.render.tools import install
from whysync.errors import SourceError

ARGOCD_VERSION: Final = "v3.5.2"
"""The newest version that the module proxy can build. From 3.3 on, gitops-engine is a nested module, which
is not part of the module of Argo CD; the proxy has it at the commits of few releases."""
_ARGOCD: Final = "github.com/argoproj/argo-cd/v3"
_ENGINE: Final = "github.com/argoproj/argo-cd/gitops-engine"
_ENGINE_VERSION: Final = "v0.0.0-20260827090335-e258ee23c3e5"
"""The commit of `ARGOCD_VERSION`."""
_STAMP: Final = f"{_ARGOCD}/common.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    cluster: Binaries
    kwok: Path
    argocd: Path
    redis: Path
    git: Path
    openssl: Path
    helm: Path
    kubectl: Path
    verify_wrapper: Path
    """A script of Argo CD: from 3.5 on, the repo-server calls it for each commit."""
    definitions: tuple[Path, ...]
    """CustomResourceDefinitions of Argo CD, and of kwok's stages."""

    @property
    def controller_manager(self) -> Path:
        assert self.cluster.controller_manager is not None
        return self.cluster.controller_manager

    @property
    def scheduler(self) -> Path:
        assert self.cluster.scheduler is not None
        return self.cluster.scheduler

    def listed(self) -> Iterator[tuple[str, Path]]:
        yield "kube-apiserver", self.cluster.apiserver
        yield "etcd", self.cluster.etcd
        yield "kube-controller-manager", self.controller_manager
        yield "kube-scheduler", self.scheduler
        yield "kwok", self.kwok
        yield "argocd", self.argocd
        yield "redis-server", self.redis
        yield "helm", self.helm
        yield "kubectl", self.kubectl


def find_or_build(say: Say) -> Programs:
    """All programs; the ones that are built are in the cache afterwards."""
    system = {name: _installed(name, package, say) for name, package in _PACKAGES}
    cluster = find_or_build_cluster(say, controllers=True)
    base = cache_directory().parent
    kwok_home, argocd_home = base / f"kwok-{KWOK.version}", base / f"argocd-{ARGOCD_VERSION}"
    with building_in(kwok_home, say):
        ensure_built(kwok_home, KWOK, "kwok", say)
        stages = _copied(KWOK.path, KWOK.version, "kustomize/crd/bases/kwok.x-k8s.io_stages.yaml", kwok_home)
    given = _given()
    with building_in(argocd_home, say):
        crds = _copied(_ARGOCD, ARGOCD_VERSION, "manifests/crds", argocd_home)
        verify_wrapper = _copied(_ARGOCD, ARGOCD_VERSION, "hack/git-verify-wrapper.sh", argocd_home)
        verify_wrapper.chmod(0o755)
        if given is None and not (argocd_home / "argocd").exists():
            _build(argocd_home, say)
    try:
        helm, kustomize = install()
    except SourceError as problem:
        raise NotAvailable(f"{problem.what}: {problem.why}; {problem.next}") from problem
    return Programs(
        cluster=cluster,
        kwok=kwok_home / "kwok",
        argocd=given or argocd_home / "argocd",
        redis=system["redis-server"],
        git=system["git"],
        openssl=system["openssl"],
        helm=Path(helm.command[0]),
        kubectl=Path(kustomize.command[0]),
        verify_wrapper=verify_wrapper,
        definitions=(*sorted(crds.glob("*-crd.yaml")), stages),
    )


def _given() -> Path | None:
    given = os.environ.get("WHYSYNC_ARGOCD")
    if not given:
        return None
    if not os.access(given, os.X_OK):
        raise NotAvailable(f"WHYSYNC_ARGOCD names {given}, which is not a program")
    return Path(given).absolute()


def _build(home: Path, say: Say) -> None:
    source = home / "source"
    if not (source / "complete").exists():
        shutil.rmtree(source, ignore_errors=True)
        _copy_module(_ARGOCD, ARGOCD_VERSION, source)
        _copy_module(_ENGINE, _ENGINE_VERSION, source / "gitops-engine")
        (source / "complete").touch()
    build = GoBuild(
        program="argocd",
        version=ARGOCD_VERSION,
        source=source,
        package="./cmd",
        flags=f"-s -w -X {_STAMP}={ARGOCD_VERSION.removeprefix('v')}",
        version_arguments=("version", "--client", "--short"),
    )
    build.into(home, say)
    shutil.rmtree(source)


def _copy_module(module: str, version: str, folder: Path) -> None:
    """Copied so that it can be written to and deleted, unlike the one in Go's cache."""
    shutil.copytree(_downloaded(module, version), folder, copy_function=shutil.copyfile)
    for copy in (folder, *folder.rglob("*/")):
        copy.chmod(0o755)


def _copied(module: str, version: str, path: str, home: Path) -> Path:
    """A file or folder of a module, copied next to the program that is built from it."""
    copy = home / Path(path).name
    if not copy.exists():
        fresh = home / f"{copy.name}.new"
        original = _downloaded(module, version) / path
        if original.is_dir():
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            for file in original.iterdir():
                shutil.copyfile(file, fresh / file.name)
        else:
            shutil.copyfile(original, fresh)
        fresh.replace(copy)
    return copy


def _downloaded(module: str, version: str) -> Path:
    """The folder of a module in Go's cache."""
    command = [go_command(), "mod", "download", "-json", f"{module}@{version}"]
    environment = {**os.environ, "GOWORK": "off"}
    done = subprocess.run(
        command, cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=1800
    )
    if done.returncode != 0:
        raise NotAvailable(f"{module} {version} was not downloaded: {done.stderr or done.stdout}")
    return Path(str(json.loads(done.stdout)["Dir"]))


_PACKAGES: Final = (("redis-server", "redis-server"), ("git", "git"), ("openssl", "openssl"))


def _installed(program: str, package: str, say: Say) -> Path:
    """A program of the system; installed from Debian's packages if this user is root."""
    found = shutil.which(program)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing {package} …")
        # `--no-install-recommends`, and no service is started: only the program is needed.
        for command in (
            ["apt-get", "update"],
            ["apt-get", "install", "-y", "--no-install-recommends", package],
        ):
            subprocess.run(
                command,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"},
                stdout=subprocess.DEVNULL,
                check=False,
                timeout=600,
            )
        found = shutil.which(program)
    if found is None:
        raise NotAvailable(f"{program} is not installed; run: sudo apt-get install {package}")
    return Path(found)
