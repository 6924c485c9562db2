"""Helm charts, rendered by `helm template` as the repo-server calls it.

Mirrors `helmTemplate` and util/helm, Argo CD 3.6. Differs: dependencies that are not in `charts/` are only
fetched when the network may be used, and a chart cannot take more time, memory or output than it is given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from whysync.argocd.repo_server.git.tree import Tree
from whysync.argocd.repo_server.render.calling import CommandFailed, ToolHome, home
from whysync.argocd.repo_server.render.decode import NotAnObject, objects_in
from whysync.argocd.repo_server.render.environment import substituted
from whysync.argocd.repo_server.render.options import RenderOptions
from whysync.argocd.repo_server.render.origin import Origin, RenderedObject
from whysync.argocd.repo_server.render.problem import CACHED_SOURCE, CannotRender, RenderProblem
from whysync.argocd.repo_server.render.tools import Tool, kube_version
from whysync.argocd.repo_server.render.tools import helm as find_helm
from whysync.argocd.repo_server.render.values_files import ValuesFiles
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken

_EXTRA_VALUES: Final = "<temp file with values from source.helm.values/valuesObject>"
_API_VERSIONS: Final = re.compile(r"(--api-versions [^ ]+ )+")
_SOURCE: Final = re.compile(r"^---[ \t]*\n# Source: (?P<file>[^\n]+)$", re.MULTILINE)
_MISSING: Final = (
    "found in requirements.yaml, but missing in charts",
    "found in Chart.yaml, but missing in charts/ directory",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chart:
    """One source that is a chart: where it lies and what is known around it."""

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
        """A text without the paths of this machine."""
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
    with home(options, chart.shown) as place:
        written = _template(chart, tool, place, arguments, dependencies)
    yield from _objects(written, chart)


def template_arguments(chart: _Chart) -> list[str]:
    """All but the file of the inline values, which does not exist yet; its place is marked."""
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
        arguments += ["--values", _EXTRA_VALUES]
    own = [text(api_version) for api_version in items(helm.get("apiVersions"))]
    for api_version in own or chart.options.api_versions:
        arguments += ["--api-versions", api_version]
    if helm.get("skipCrds") is not True:
        arguments.append("--include-crds")
    if helm.get("skipSchemaValidation") is True:
        arguments.append("--skip-schema-validation")
    if helm.get("skipTests") is True:
        arguments.append("--skip-tests")
    return arguments


def _release_name(instance: str) -> str:
    """`namespace_name` of an app outside of Argo CD's namespace is no name of a release."""
    before, underscore, name = instance.partition("_")
    return name if underscore else before


def _parameters(helm: Object, env: Mapping[str, str], files: ValuesFiles) -> list[str]:
    plain: dict[str, str] = {}
    strings: dict[str, str] = {}
    for parameter in map(fields, items(helm.get("parameters"))):
        where = strings if parameter.get("forceString") is True else plain
        where[text(parameter.get("name"))] = substituted(text(parameter.get("value")), env)
    from_files = {
        text(parameter.get("name")): files.file_parameter(text(parameter.get("path")))
        for parameter in map(fields, items(helm.get("fileParameters")))
    }
    arguments: list[str] = []
    for flag, given in (("--set", plain), ("--set-string", strings), ("--set-file", from_files)):
        for name, value in given.items():
            arguments += [flag, f"{name}={escaped(value)}"]
    return arguments


def escaped(value: str) -> str:
    """Commas of a parameter are part of it, unless it is a list in braces. Mirrors `cleanSetParameters`."""
    if value.startswith("{") and value.endswith("}"):
        return value
    return re.sub(r"(?<!\\),", r"\,", value)


def inline_values(helm: Object) -> str:
    """`valuesObject` wins over `values`; JSON is YAML too."""
    given = helm.get("valuesObject")
    return text(helm.get("values")) if given is None else msgspec.json.encode(given).decode()


def _check_remote(values: Sequence[str], options: RenderOptions) -> None:
    remote = next((value for value in values if not value.startswith("/")), "")
    if remote and not options.network:
        raise CannotRender(
            what=f"the values file {remote} is not fetched",
            why="the network is used only where it was asked for",
            next="allow it with --network",
        )


def _template(
    chart: _Chart, tool: Tool, place: ToolHome, arguments: Sequence[str], dependencies: Sequence[Dependency]
) -> str:
    real = list(arguments)
    if _EXTRA_VALUES in real:
        extra = place.path / "values.yaml"
        extra.write_text(inline_values(chart.helm), encoding="utf-8", errors="surrogateescape")
        real[real.index(_EXTRA_VALUES)] = str(extra)

    def attempt() -> str:
        try:
            return place.call([*tool.command, *real], shown_as=("helm", *arguments), folder=chart.folder)
        except CommandFailed as problem:
            # Helm names the file of the inline values when it cannot read it.
            message = problem.text.replace("/tmp/values.yaml", _EXTRA_VALUES)
            message = _API_VERSIONS.sub("<api versions removed> ", message)
            raise RenderProblem(
                f"failed to execute helm template command: failed running helm: {message}"
            ) from None

    lock = chart.folder / "Chart.lock"
    had_lock = lock.exists()
    try:
        return attempt()
    except RenderProblem as problem:
        if not any(mark in problem.text for mark in _MISSING):
            raise
        if not had_lock:  # template may leave one behind that build would then trust
            lock.unlink(missing_ok=True)
        _build_dependencies(chart, tool, place, dependencies, problem)
        return attempt()


def _build_dependencies(
    chart: _Chart, tool: Tool, place: ToolHome, dependencies: Sequence[Dependency], problem: RenderProblem
) -> None:
    if not chart.options.network and not all(
        dependency.is_local(chart.folder, chart.tree.root) for dependency in dependencies
    ):
        raise CannotRender(
            what="the chart's dependencies are not in charts/, and Argo CD would fetch them",
            why=problem.text,
            next="allow it with --network, or vendor them: helm dependency build, and commit charts/",
        )
    prefix = "error building helm chart dependencies: "
    for dependency in dependencies:
        if not dependency.url.startswith("https://"):
            continue
        command = ["repo", "add", *_pass_credentials(chart), dependency.url.replace("/", "-"), dependency.url]
        try:
            place.call([*tool.command, *command], shown_as=("helm", *command), folder=chart.folder)
        except CommandFailed as failed:
            raise RenderProblem(
                f"{prefix}failed to add helm repository {dependency.url}: failed to add repository: "
                f"failed running helm: {failed.text}"
            ) from None
    try:
        command_line = ("dependency", "build")
        place.call([*tool.command, *command_line], shown_as=("helm", *command_line), folder=chart.folder)
    except CommandFailed as failed:
        raise RenderProblem(
            f"{prefix}failed to build helm dependencies: failed to build dependencies: "
            f"failed running helm: {failed.text}"
        ) from None


def _pass_credentials(chart: _Chart) -> tuple[str, ...]:
    return ("--pass-credentials",) if chart.helm.get("passCredentials") is True else ()


def _objects(written: str, chart: _Chart) -> Iterator[RenderedObject]:
    """Each with the template that Helm names above it."""
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
    """`shop/charts/db/templates/x.yaml` → the file in the repository, or the archive that holds the chart."""
    inside = Path(file.partition("/")[2] or file)
    made_by = "crds" if "crds" in inside.parts[:-1] and "templates" not in inside.parts else "template"
    here = chart.folder.relative_to(chart.tree.root)
    if (chart.folder / inside).is_file():
        return Origin(path=str(here / inside), made_by=made_by)
    parts = inside.parts
    if len(parts) > 2 and parts[0] == "charts":
        archive = next(iter(sorted((chart.folder / "charts").glob(f"{glob_safe(parts[1])}-*.tgz"))), None)
        if archive is not None:
            return Origin(path=str(here / "charts" / archive.name), made_by=made_by)
    return Origin(path=str(here / inside), made_by=made_by)


def glob_safe(name: str) -> str:
    return re.sub(r"[*?\[\]]", "?", name)


class Dependency(NamedTuple):
    name: str
    url: str

    def is_local(self, folder: Path, root: Path) -> bool:
        """Lies it in the repository, where no network is needed?"""
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
    where = shown(str(file))
    prefix = "error getting helm repos: error retrieving helm dependency repos: "
    try:
        data = file.read_bytes()
    except OSError as problem:
        why = (problem.strerror or str(problem)).lower()
        raise RenderProblem(f"{prefix}error reading helm chart from {where}: open {where}: {why}") from None
    for document in yaml.documents(data):
        if isinstance(document, Broken):
            raise RenderProblem(
                f"{prefix}error unmarshalling the helm chart while getting helm dependency repos: "
                f"error converting YAML to JSON: yaml: line {document.line}: {document.problem}"
            )
        return [
            Dependency(text(dependency.get("name")), text(dependency.get("repository")))
            for dependency in map(fields, items(fields(document.body).get("dependencies")))
        ]
    return []
