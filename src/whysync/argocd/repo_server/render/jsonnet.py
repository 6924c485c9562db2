"""Jsonnet, evaluated by go-jsonnet (as in Argo CD) in a child process with limits.

Mirrors `makeJsonnetVM`, Argo CD 3.6; differs: nothing outside of the repository can be imported.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import msgspec

from whysync.argocd.repo_server.git.tree import Tree
from whysync.argocd.repo_server.render.decode import NotAnObject, as_object
from whysync.argocd.repo_server.render.environment import substituted
from whysync.argocd.repo_server.render.options import RenderOptions
from whysync.argocd.repo_server.render.origin import Origin, RenderedObject
from whysync.argocd.repo_server.render.paths import resolved_path
from whysync.argocd.repo_server.render.problem import CACHED_SOURCE, CannotRender, RenderProblem
from whysync.json_tree import Json, Object, fields, items, text
from whysync.processes.children import NotStarted, TooMuchOutput, TooSlow, environment, run


def evaluate_jsonnet(
    path: Path, directory: Object, folder: Path, tree: Tree, env: Mapping[str, str], options: RenderOptions
) -> Iterator[RenderedObject]:
    settings = fields(directory.get("jsonnet"))
    libraries = [
        resolved_path(tree.root, tree.root, text(lib), may_be_root=True)
        for lib in items(settings.get("libs"))
    ]
    request: Object = {
        "file": str(path),
        "root": str(tree.root),
        "search": [str(folder), *libraries],
        "external": _variables(settings.get("extVars"), env),
        "arguments": _variables(settings.get("tlas"), env),
    }
    response = _run_child(request, path.name, options)
    origin = Origin(path=str(path.relative_to(tree.root)), made_by="jsonnet")
    problem_text = text(response.get("problem"))
    if problem_text:
        problem_text = problem_text.replace(str(tree.root), CACHED_SOURCE).strip()
        raise RenderProblem(
            f'Failed to evaluate jsonnet "{path.name}": {problem_text}', code="FailedPrecondition"
        )
    try:
        decoded = cast("Json", msgspec.json.decode(text(response.get("json"))))
        bodies = decoded if isinstance(decoded, list) else [decoded]
        for body in bodies:
            if body is not None or not isinstance(decoded, list):
                yield RenderedObject(body=as_object(body), origin=origin)
    except NotAnObject as problem:
        why = problem.text.rpartition("while decoding JSON: ")[2]
        raise RenderProblem(
            f'Failed to unmarshal generated json "{path.name}": {why}', code="FailedPrecondition"
        ) from None


def _variables(variables: Json, env: Mapping[str, str]) -> list[Json]:
    return [
        {
            "name": text(variable.get("name")),
            "value": substituted(text(variable.get("value")), env),
            "code": variable.get("code") is True,
        }
        for variable in map(fields, items(variables))
    ]


def _run_child(request: Object, name: str, options: RenderOptions) -> Object:
    child = Path(__file__).with_name("jsonnet_child.py")
    with tempfile.TemporaryDirectory(prefix="whysync-jsonnet-") as home:
        paths = msgspec.json.encode([entry for entry in sys.path if entry]).decode()
        try:
            result = run(
                [sys.executable, "-I", "-S", str(child), paths],
                folder=Path(home),
                env=environment(Path(home), network=False),
                bounds=options.bounds,
                input=msgspec.json.encode(request),
                apart=True,
            )
        except (TooSlow, TooMuchOutput, NotStarted) as problem:
            raise RenderProblem(
                f'Failed to evaluate jsonnet "{name}": it took too long or made too much',
                code="FailedPrecondition",
            ) from problem
    if result.code == 3:
        raise CannotRender(
            what=f"{name} is Jsonnet, but the Jsonnet engine is not installed",
            why="the Python package gojsonnet is missing; it is Argo CD's own engine",
            next="pip install gojsonnet",
        )
    if result.code != 0:
        raise RenderProblem(
            f'Failed to evaluate jsonnet "{name}": the engine ended with {result.cause}',
            code="FailedPrecondition",
        )
    response = cast("Json", msgspec.json.decode(result.out))
    return fields(response)
