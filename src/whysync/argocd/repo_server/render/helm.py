"""Helm sources, rendered by `helm template` as the repo-server calls it.

Mirrors `helmTemplate` and util/helm, Argo CD 3.6. Differs: dependencies that are not in `charts/` are only
fetched if the network is allowed, and time, memory and output are limited.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from whysync.argocd.repo_server.git.tree import Tree
from whysync.argocd.repo_server.render.decode import NotAnObject, objects_in
from whysync.argocd.repo_server.render.environment import substituted
from whysync.argocd.repo_server.render.options import (
    CACHED_SOURCE,
    CannotRender,
    Origin,
    RenderedObject,
    RenderOptions,
    RenderProblem,
)
from whysync.argocd.repo_server.render.tools import (
    CommandFailed,
    Tool,
    ToolHome,
    home,
    kube_version,
    user_repository,
)
from whysync.argocd.repo_server.render.tools import helm as find_helm
from whysync.argocd.repo_server.render.values_files import ValuesFiles
from whysync.files import write_file
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken

_INLINE_VALUES: Final = "<temp file with values from source.helm.values/valuesObject>"
_API_VERSIONS: Final = re.compile(r"(--api-versions [^ ]+ )+")
_SOURCE: Final = re.compile(r"^---[ \t]*\n# Source: (?P<file>[^\n]+)$", re.MULTILINE)
_MISSING_DEPENDENCY: Final = (
    "found in requirements.yaml, but missing in charts",
    "found in Chart.yaml, but missing in charts/ directory",
)


class _Chart(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs for rendering one chart."""

    source: Object
    folder: Path
    tree: Tree
    env: Mapping[str, str]
    options: RenderOptions
    namespace: str

    @property
    def helm(self) -> Object:
        return fields(self.source.get("helm"))

    def shown(self, message: str) -> str:
        """The message with local paths replaced as by the repo-server."""
        for tree in (self.tree, *(ref.tree for ref in self.options.refs.values())):
            if tree is not None:
                message = message.replace(str(tree.root), CACHED_SOURCE)
        return message


def render_helm(
    source: Object, folder: Path, tree: Tree, env: Mapping[str, str], options: RenderOptions, namespace: str
) -> Iterator[RenderedObject]:
    chart = _Chart(source=source, folder=folder, tree=tree, env=env, options=options, namespace=namespace)
    arguments = template_arguments(chart)
    dependencies = dependencies_of(folder, chart.shown)
    version = text(chart.helm.get("version"))
    if version not in ("", "v3", "v4"):
        raise RenderProblem(
            "error initializing helm app object: failed to create new helm command: "
            f"helm version '{version}' is not supported"
        )
    tool = find_helm(options.tools)
    with home(options, chart.shown) as tool_home:
        written = _template(chart, tool, tool_home, arguments, dependencies)
    yield from _objects(written, chart)


def template_arguments(chart: _Chart) -> list[str]:
    """The arguments of `helm template`, with a placeholder for the file of inline values."""
    helm, env = chart.helm, chart.env
    name = text(helm.get("releaseName")) or _release_name(env["ARGOCD_APP_NAME"])
    arguments = ["template", ".", "--name-template", name]
    namespace = text(helm.get("namespace")) or chart.namespace
    if namespace:
        arguments += ["--namespace", namespace]
    version = kube_version(text(helm.get("kubeVersion")) or chart.options.kube_version)
    if version:
        arguments += ["--kube-version", version]
    files = ValuesFiles(chart.folder, chart.tree.root, env, chart.options)
    try:
        values = files.all(
            [text(value_file) for value_file in items(helm.get("valueFiles"))],
            ignore_missing=helm.get("ignoreMissingValueFiles") is True,
        )
    except RenderProblem as problem:
        raise RenderProblem(f"error resolving helm value files: {chart.shown(problem.text)}") from None
    arguments += _parameters(helm, env, files)
    _check_remote(values, chart.options)
    for file in values:
        arguments += ["--values", file]
    if inline_values(helm):
        arguments += ["--values", _INLINE_VALUES]
    source_api_versions = [text(api_version) for api_version in items(helm.get("apiVersions"))]
    for api_version in source_api_versions or chart.options.api_versions:
        arguments += ["--api-versions", api_version]
    if helm.get("skipCrds") is not True:
        arguments.append("--include-crds")
    if helm.get("skipSchemaValidation") is True:
        arguments.append("--skip-schema-validation")
    if helm.get("skipTests") is True:
        arguments.append("--skip-tests")
    return arguments


def _release_name(instance: str) -> str:
    """The app name of an instance name, which is `namespace_name` outside of Argo CD's namespace."""
    before, underscore, name = instance.partition("_")
    return name if underscore else before


def _parameters(helm: Object, env: Mapping[str, str], files: ValuesFiles) -> list[str]:
    plain: dict[str, str] = {}
    strings: dict[str, str] = {}
    for parameter in map(fields, items(helm.get("parameters"))):
        group = strings if parameter.get("forceString") is True else plain
        group[text(parameter.get("name"))] = substituted(text(parameter.get("value")), env)
    from_files = {
        text(parameter.get("name")): files.file_parameter(text(parameter.get("path")))
        for parameter in map(fields, items(helm.get("fileParameters")))
    }
    arguments: list[str] = []
    for flag, parameters in (("--set", plain), ("--set-string", strings), ("--set-file", from_files)):
        for name, value in parameters.items():
            arguments += [flag, f"{name}={escaped(value)}"]
    return arguments


def escaped(value: str) -> str:
    """Escapes commas, unless the value is a list in braces. Mirrors `cleanSetParameters`."""
    if value.startswith("{") and value.endswith("}"):
        return value
    return re.sub(r"(?<!\\),", r"\,", value)


def inline_values(helm: Object) -> str:
    """`valuesObject` (as JSON) or else `values`."""
    values_object = helm.get("valuesObject")
    return text(helm.get("values")) if values_object is None else msgspec.json.encode(values_object).decode()


def _check_remote(values: Sequence[str], options: RenderOptions) -> None:
    remote = next((value for value in values if not value.startswith("/")), "")
    if remote and not options.network:
        raise CannotRender(
            what=f"the values file {remote} is not fetched",
            why=f"the network is used only with {options.network_flag}",
            next=f"allow it with {options.network_flag}",
            part=f"values file {remote}",
            shared="not fetched",
        )


def _template(
    chart: _Chart,
    tool: Tool,
    tool_home: ToolHome,
    arguments: Sequence[str],
    dependencies: Sequence[Dependency],
) -> str:
    command_arguments = list(arguments)
    if _INLINE_VALUES in command_arguments:
        values_file = tool_home.path / "values.yaml"
        values_file.write_text(inline_values(chart.helm), encoding="utf-8", errors="surrogateescape")
        command_arguments[command_arguments.index(_INLINE_VALUES)] = str(values_file)

    def attempt() -> str:
        try:
            return tool_home.call(
                [*tool.command, *command_arguments],
                shown_as=("helm", *arguments),
                folder=chart.folder,
                fetches=_has_remote_values(arguments),
            )
        except CommandFailed as problem:
            # The message contains the path of the inline values if they cannot be parsed.
            message = problem.text.replace("/tmp/values.yaml", _INLINE_VALUES)
            message = _API_VERSIONS.sub("<api versions removed> ", message)
            raise RenderProblem(
                f"failed to execute helm template command: failed running helm: {message}"
            ) from None

    lock = chart.folder / "Chart.lock"
    had_lock = lock.exists()
    try:
        return attempt()
    except RenderProblem as problem:
        if not any(mark in problem.text for mark in _MISSING_DEPENDENCY):
            raise
        if not had_lock:  # `helm template` may create one that `helm dependency build` would use
            lock.unlink(missing_ok=True)
        _build_dependencies(chart, tool, tool_home, dependencies, problem)
        return attempt()


def _build_dependencies(
    chart: _Chart, tool: Tool, tool_home: ToolHome, dependencies: Sequence[Dependency], problem: RenderProblem
) -> None:
    if not chart.options.network and not all(
        dependency.is_local(chart.folder, chart.tree.root) for dependency in dependencies
    ):
        raise CannotRender(
            what="the chart's dependencies are not in charts/, and Argo CD would fetch them",
            why=problem.text,
            next=f"allow it with {chart.options.network_flag}, or vendor them: helm dependency build, and"
            " commit charts/",
            part="its chart dependencies",
            shared="not in charts/, and Argo CD would fetch them",
        )
    _check_local_dependencies(chart, (*dependencies, *_locked_dependencies(chart.folder)))
    prefix = "error building helm chart dependencies: "
    add_user_repositories(tool_home, [dependency.url for dependency in dependencies])
    for dependency in dependencies:
        if not dependency.url.startswith("https://") or user_repository(dependency.url):
            continue
        command = ["repo", "add", *_pass_credentials(chart), dependency.url.replace("/", "-"), dependency.url]
        try:
            tool_home.call(
                [*tool.command, *command], shown_as=("helm", *command), folder=chart.folder, fetches=True
            )
        except CommandFailed as failed:
            raise RenderProblem(
                f"{prefix}failed to add helm repository {dependency.url}: failed to add repository: "
                f"failed running helm: {failed.text}"
            ) from None
    try:
        command_line = ("dependency", "build")
        tool_home.call(
            [*tool.command, *command_line],
            shown_as=("helm", *command_line),
            folder=chart.folder,
            fetches=True,
        )
    except CommandFailed as failed:
        raise RenderProblem(
            f"{prefix}failed to build helm dependencies: failed to build dependencies: "
            f"failed running helm: {failed.text}"
        ) from None


def _check_local_dependencies(chart: _Chart, dependencies: Sequence[Dependency]) -> None:
    """Raises `CannotRender` for a dependency in a folder outside of the repository."""
    for dependency in dependencies:
        if dependency.url.startswith("file:") and not dependency.is_local(chart.folder, chart.tree.root):
            raise CannotRender(
                what=f"the dependency {dependency.name} is outside of the repository: {dependency.url}",
                why="whysync reads no files outside of the source",
                next="move the chart into the repository",
            )


def _locked_dependencies(folder: Path) -> list[Dependency]:
    """The dependencies in Chart.lock, which `helm dependency build` uses if its digest is right."""
    try:
        body = fields(yaml.load((folder / "Chart.lock").read_bytes()))
    except (OSError, yaml.Invalid):
        return []
    return _dependencies(body)


def _dependencies(body: Object) -> list[Dependency]:
    return [
        Dependency(text(dependency.get("name")), text(dependency.get("repository")))
        for dependency in map(fields, items(body.get("dependencies")))
    ]


def add_user_repositories(tool_home: ToolHome, urls: Sequence[str]) -> list[str]:
    """Copies the user's entries of these chart repositories for Helm; returns their names."""
    entries = [entry for url in dict.fromkeys(urls) if (entry := user_repository(url))]
    if entries and tool_home.options.network:
        body: Object = {"apiVersion": "", "repositories": [*entries]}
        write_file(tool_home.path / "repositories.yaml", yaml.dump(body).encode(), mode=0o600)
    return [text(entry.get("name")) for entry in entries]


def _has_remote_values(arguments: Sequence[str]) -> bool:
    return any(flag == "--values" and not path.startswith(("/", "<")) for flag, path in pairwise(arguments))


def _pass_credentials(chart: _Chart) -> tuple[str, ...]:
    return ("--pass-credentials",) if chart.helm.get("passCredentials") is True else ()


def _objects(written: str, chart: _Chart) -> Iterator[RenderedObject]:
    """The objects with the template from Helm's `# Source:` comments."""
    marks = [(written.count("\n", 0, at.start()) + 1, at["file"]) for at in _SOURCE.finditer(written)]
    at = -1
    try:
        for document in objects_in(written):
            while at + 1 < len(marks) and marks[at + 1][0] <= document.line:
                at += 1
            origin = _origin(marks[at][1], chart) if at >= 0 else Origin()
            yield RenderedObject(body=document.body, origin=origin)
    except NotAnObject as problem:
        raise RenderProblem(problem.text) from None


def _origin(file: str, chart: _Chart) -> Origin:
    """The file of `shop/charts/db/templates/x.yaml` in the repository, or the archive of the subchart."""
    inside = Path(file.partition("/")[2] or file)
    made_by = "crds" if "crds" in inside.parts[:-1] and "templates" not in inside.parts else "template"
    chart_path = chart.folder.relative_to(chart.tree.root)
    if (chart.folder / inside).is_file():
        return Origin(path=str(chart_path / inside), made_by=made_by)
    path_parts = inside.parts
    if len(path_parts) > 2 and path_parts[0] == "charts":
        archive = next(
            iter(sorted((chart.folder / "charts").glob(f"{glob_safe(path_parts[1])}-*.tgz"))), None
        )
        if archive is not None:
            return Origin(path=str(chart_path / "charts" / archive.name), made_by=made_by)
    return Origin(path=str(chart_path / inside), made_by=made_by)


def glob_safe(name: str) -> str:
    return re.sub(r"[*?\[\]]", "?", name)


class Dependency(NamedTuple):
    name: str
    url: str

    def is_local(self, folder: Path, root: Path) -> bool:
        """Is it in the repository, so that no network is needed?"""
        if not self.url:
            return True
        if not self.url.startswith("file://"):
            return False
        path = self.url.removeprefix("file://")
        full = os.path.realpath(path if path.startswith("/") else folder / path)
        return full.startswith(f"{root}/")


def dependencies_of(folder: Path, shown: Callable[[str], str]) -> list[Dependency]:
    """Mirrors `getHelmDependencyRepos`, Argo CD 3.6: a chart without Chart.yaml ends here."""
    file = folder / "Chart.yaml"
    shown_path = shown(str(file))
    prefix = "error getting helm repos: error retrieving helm dependency repos: "
    try:
        data = file.read_bytes()
    except OSError as problem:
        error = (problem.strerror or str(problem)).lower()
        raise RenderProblem(
            f"{prefix}error reading helm chart from {shown_path}: open {shown_path}: {error}"
        ) from None
    for document in yaml.documents(data):
        if isinstance(document, Broken):
            raise RenderProblem(
                f"{prefix}error unmarshalling the helm chart while getting helm dependency repos: "
                f"error converting YAML to JSON: yaml: line {document.line}: {document.problem}"
            )
        return _dependencies(fields(document.body))
    return []
