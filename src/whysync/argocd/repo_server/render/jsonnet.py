"""Jsonnet, evaluated by Argo CD's own engine (`gojsonnet`) in a child that cannot run away.

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
from whysync.processes.children import NotStarted, TooMuchSaid, TooSlow, environment, run


def evaluated(
    path: Path, how: Object, folder: Path, tree: Tree, env: Mapping[str, str], options: RenderOptions
) -> Iterator[RenderedObject]:
    settings = fields(how.get("jsonnet"))
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
    answer = _asked(request, path.name, options)
    origin = Origin(path=str(path.relative_to(tree.root)), made_by="jsonnet")
    problem_text = text(answer.get("problem"))
    if problem_text:
        problem_text = problem_text.replace(str(tree.root), CACHED_SOURCE).strip()
        raise RenderProblem(
            f'Failed to evaluate jsonnet "{path.name}": {problem_text}', code="FailedPrecondition"
        )
    try:
        made = cast("Json", msgspec.json.decode(text(answer.get("json"))))
        bodies = made if isinstance(made, list) else [made]
        for body in bodies:
            if body is not None or not isinstance(made, list):
                yield RenderedObject(body=as_object(body), origin=origin)
    except NotAnObject as problem:
        why = problem.text.rpartition("while decoding JSON: ")[2]
        raise RenderProblem(
            f'Failed to unmarshal generated json "{path.name}": {why}', code="FailedPrecondition"
        ) from None


def _variables(given: Json, env: Mapping[str, str]) -> list[Json]:
    return [
        {
            "name": text(variable.get("name")),
            "value": substituted(text(variable.get("value")), env),
            "code": variable.get("code") is True,
        }
        for variable in map(fields, items(given))
    ]


def _asked(request: Object, name: str, options: RenderOptions) -> Object:
    child = Path(__file__).with_name("jsonnet_child.py")
    with tempfile.TemporaryDirectory(prefix="whysync-jsonnet-") as home:
        paths = msgspec.json.encode([entry for entry in sys.path if entry]).decode()
        try:
            done = run(
                [sys.executable, "-I", "-S", str(child), paths],
                folder=Path(home),
                env=environment(Path(home), network=False),
                bounds=options.bounds,
                given=msgspec.json.encode(request),
                apart=True,
            )
        except (TooSlow, TooMuchSaid, NotStarted) as problem:
            raise RenderProblem(
                f'Failed to evaluate jsonnet "{name}": it took too long or made too much',
                code="FailedPrecondition",
            ) from problem
    if done.code == 3:
        raise CannotRender(
            what=f"{name} is Jsonnet, and its engine is not installed",
            why="the Python package gojsonnet is missing; it is Argo CD's own engine",
            next="pip install gojsonnet",
        )
    if done.code != 0:
        raise RenderProblem(
            f'Failed to evaluate jsonnet "{name}": the engine ended with {done.cause}',
            code="FailedPrecondition",
        )
    answer = cast("Json", msgspec.json.decode(done.out))
    return fields(answer)
