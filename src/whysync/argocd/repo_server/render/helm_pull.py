"""Charts from a Helm repository or OCI registry, fetched by Helm if the network is allowed, and cached.

Mirrors `ExtractChart` of util/helm, Argo CD 3.6. Helm uses the user's own configuration: the entry of
`helm repo add`, `helm registry login` and `docker login`. Archives are unpacked with limits.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import shutil
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from whysync.argocd.repo_server.git.command import without_credentials
from whysync.argocd.repo_server.git.repo import cache_folder
from whysync.argocd.repo_server.git.revisions import is_range
from whysync.argocd.repo_server.git.tree import Tree
from whysync.argocd.repo_server.render.helm import add_user_repositories
from whysync.argocd.repo_server.render.options import CannotRender, RenderOptions, RenderProblem
from whysync.argocd.repo_server.render.tools import CommandFailed, Tool, ToolHome, home
from whysync.argocd.repo_server.render.tools import helm as find_helm
from whysync.files import read_file, remove_file, write_file
from whysync.json_tree import fields, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Invalid

_MAX_BYTES: Final = 1 << 30
_MAX_ARCHIVE_BYTES: Final = 64 << 20
_MAX_CACHE_BYTES: Final = 1 << 30
_MAX_FILES: Final = 20_000
_PLAIN_HTTP: Final = "server gave HTTP response to HTTPS client"


def chart_version(repo: str, chart: str, version_range: str, options: RenderOptions) -> str:
    """The version of a semver range, as of the last fetch if the network is not allowed."""
    if version_range and not is_range(version_range):
        return version_range
    record = _cached(repo, chart, version_range, "version")
    if not options.network:
        try:
            return read_file(record).decode()
        except OSError:
            raise _not_fetched(repo, chart, options) from None
    with home(options, without_credentials) as tool_home:
        chart_yaml = _helm(["show", "chart"], repo, chart, version_range, tool_home)
    try:
        version = text(fields(yaml.load(chart_yaml)).get("version"))
    except Invalid:
        return version_range
    _keep(record, version.encode())
    return version


def pulled_chart(repo: str, chart: str, version: str, options: RenderOptions) -> Tree:
    """The files of a chart; its root is the folder with Chart.yaml."""
    archive = _cached(repo, chart, version, "tgz")
    if not archive.is_file() and not options.network:
        raise _not_fetched(repo, chart, options)
    folder = Path(tempfile.mkdtemp(prefix="whysync-chart-")).resolve()
    try:
        if archive.is_file():
            with suppress(OSError):
                os.utime(archive)  # mark as recently used
        else:
            archive = _pulled(repo, chart, version, options, folder, archive)
        root = folder / "chart"
        _unpack(archive, root)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return _Chart(root, identity=f"{repo}/{chart}@{version}")


class _Chart(Tree):
    def close(self) -> None:
        shutil.rmtree(self.root.parent, ignore_errors=True)


def _pulled(repo: str, chart: str, version: str, options: RenderOptions, folder: Path, cached: Path) -> Path:
    with home(options, without_credentials) as tool_home:
        _helm(["pull", "--destination", str(folder)], repo, chart, version, tool_home)
    archive = next(iter(sorted(folder.glob("*.tgz"))))
    if archive.stat().st_size > _MAX_ARCHIVE_BYTES:
        raise RenderProblem(f"chart {archive.name} is larger than {_MAX_ARCHIVE_BYTES >> 20} MiB")
    _keep(cached, archive.read_bytes())
    return archive


def _not_fetched(repo: str, chart: str, options: RenderOptions) -> CannotRender:
    return CannotRender(
        what=f"the chart {chart} of {without_credentials(repo)} is not fetched",
        why=f"it is not in the cache, and the network is used only with {options.network_flag}",
        next=f"allow it with {options.network_flag}, or give whysync the rendered manifests",
        part=f"chart {chart} of {without_credentials(repo)}",
        shared="not in the cache",
    )


# --- cache ---------------------------------------------------------------------------------------------


def _cached(repo: str, chart: str, version: str, ending: str) -> Path:
    key = "\0".join((without_credentials(repo).rstrip("/"), chart, version))
    return cache_folder() / "charts" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.{ending}"


def _keep(path: Path, content: bytes) -> None:
    """Writes to the cache; a cache that cannot be written is ignored. The oldest files are deleted."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_file(path, content, mode=0o600, durable=False)
        with os.scandir(path.parent) as entries:
            files = sorted((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path) for entry in entries)
        total = sum(size for _, size, _ in files)
        for _, size, old in files:
            if total <= _MAX_CACHE_BYTES:
                return
            remove_file(Path(old))
            total -= size


# --- Helm ----------------------------------------------------------------------------------------------


def _helm(command: list[str], repo: str, chart: str, version: str, tool_home: ToolHome) -> str:
    if any(argument.startswith("-") for argument in (repo, chart, version)):
        raise RenderProblem(f"invalid chart {chart}")
    tool = find_helm(tool_home.options.tools)
    try:
        if not repo.startswith(("https://", "http://")):
            return _from_registry(command, repo, chart, version, tool_home, tool)
        names = add_user_repositories(tool_home, [repo])
        if names:
            _call(tool_home, tool, ["repo", "update", names[0]])
            return _call(tool_home, tool, [*command, "--version", version, f"{names[0]}/{chart}"])
        return _call(tool_home, tool, [*command, "--version", version, "--repo", repo, chart])
    except CommandFailed as problem:
        raise RenderProblem(f"failed to fetch chart: failed running helm: {problem.text}") from None


def _from_registry(
    command: list[str], repo: str, chart: str, version: str, tool_home: ToolHome, tool: Tool
) -> str:
    host = repo.removeprefix("oci://").rstrip("/")
    arguments = [*command, f"oci://{host}/{chart}", "--version", version]
    try:
        return _call(tool_home, tool, arguments)
    except CommandFailed as problem:
        # As in Docker, only a registry on this machine may use plain HTTP.
        if _PLAIN_HTTP not in problem.text or not _is_loopback(host):
            raise
        return _call(tool_home, tool, [*arguments, "--plain-http"])


def _call(tool_home: ToolHome, tool: Tool, arguments: list[str]) -> str:
    return tool_home.call(
        [*tool.command, *arguments], shown_as=("helm", *arguments), folder=tool_home.path, fetches=True
    )


def _is_loopback(host: str) -> bool:
    name = host.partition("/")[0].rpartition(":")[0] or host.partition("/")[0]
    try:
        return name == "localhost" or ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _unpack(archive: Path, root: Path) -> None:
    """Unpacks regular files below the top folder of the archive."""
    files = size = 0
    try:
        with tarfile.open(archive, mode="r:gz") as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                if not member.isfile() or path.is_absolute() or ".." in path.parts or len(path.parts) < 2:
                    continue
                files, size = files + 1, size + member.size
                content = tar.extractfile(member)
                if files > _MAX_FILES or size > _MAX_BYTES or content is None:
                    raise RenderProblem(f"chart {archive.name} is larger than what is unpacked")
                target = root.joinpath(*path.parts[1:])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
    except (tarfile.TarError, OSError, EOFError) as problem:
        raise RenderProblem(f"chart {archive.name} cannot be unpacked: {problem}") from problem
