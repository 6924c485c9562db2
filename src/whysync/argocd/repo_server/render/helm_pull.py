"""Charts from a Helm repository or OCI registry, fetched by Helm if the network is allowed.

Mirrors `ExtractChart` of util/helm, Argo CD 3.6. Archives are unpacked with limits.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import Final

from whysync.argocd.repo_server.git.command import without_credentials
from whysync.argocd.repo_server.git.tree import Tree
from whysync.argocd.repo_server.render.options import CannotRender, RenderOptions, RenderProblem
from whysync.argocd.repo_server.render.tools import CommandFailed, home
from whysync.argocd.repo_server.render.tools import helm as find_helm
from whysync.json_tree import fields, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Invalid

_MAX_BYTES: Final = 1 << 30
_MAX_FILES: Final = 20_000


def chart_version(repo: str, chart: str, version_range: str, options: RenderOptions) -> str:
    """The current version of a semver range."""
    chart_yaml = _helm(["show", "chart"], repo, chart, version_range, options)
    try:
        return text(fields(yaml.load(chart_yaml)).get("version"))
    except Invalid:
        return version_range


def pulled_chart(repo: str, chart: str, version: str, options: RenderOptions) -> Tree:
    """The files of a chart; its root is the folder with Chart.yaml."""
    folder = Path(tempfile.mkdtemp(prefix="whysync-chart-")).resolve()
    try:
        _helm(["pull", "--destination", str(folder)], repo, chart, version, options)
        archive = next(iter(sorted(folder.glob("*.tgz"))))
        root = folder / "chart"
        _unpack(archive, root)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return _Chart(root, identity=f"{repo}/{chart}@{version}")


class _Chart(Tree):
    def close(self) -> None:
        shutil.rmtree(self.root.parent, ignore_errors=True)


def _helm(command: list[str], repo: str, chart: str, version: str, options: RenderOptions) -> str:
    shown = without_credentials(repo)
    if not options.network:
        raise CannotRender(
            what=f"the chart {chart} of {shown} is not fetched",
            why="the network is used only with --network",
            next="allow it with --network, or give whysync the rendered manifests",
        )
    tool = find_helm(options.tools)
    if repo.startswith(("https://", "http://")):
        arguments = [*command, "--version", version, "--repo", repo, chart]
    else:
        host = repo.removeprefix("oci://").rstrip("/")
        arguments = [*command, f"oci://{host}/{chart}", "--version", version]
    if any(argument.startswith("-") for argument in (repo, chart, version)):
        raise RenderProblem(f"invalid chart {chart}")
    with home(options, without_credentials) as tool_home:
        try:
            return tool_home.call(
                [*tool.command, *arguments], shown_as=("helm", *arguments), folder=tool_home.path
            )
        except CommandFailed as problem:
            raise RenderProblem(f"failed to fetch chart: failed running helm: {problem.text}") from None


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
