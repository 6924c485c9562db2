"""Directory sources: plain manifests and Jsonnet.

Mirrors `findManifests`, `getPotentiallyValidManifests`, `getObjsFromYAMLOrJSON` and `makeJsonnetVM`, Argo CD
3.6. Jsonnet is evaluated by go-jsonnet (as in Argo CD) in a child process with limits; differs: nothing
outside the repository can be imported.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, cast

import msgspec

from whysync.argocd.repo_server.git.tree import Tree, walk
from whysync.argocd.repo_server.render.decode import DecodedObject, NotAnObject, as_object, objects_in
from whysync.argocd.repo_server.render.environment import substituted
from whysync.argocd.repo_server.render.options import (
    CACHED_SOURCE,
    CannotRender,
    Origin,
    RenderedObject,
    RenderOptions,
    RenderProblem,
)
from whysync.argocd.repo_server.render.paths import resolved_path
from whysync.golang.glob import glob_match
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.yaml import Invalid
from whysync.kubernetes.api.yaml.load import decoded
from whysync.processes.children import NotStarted, TooMuchOutput, TooSlow, environment, run

_ENDINGS: Final = (".yaml", ".yml", ".json", ".jsonnet")
_SKIPPED: Final = b"+argocd:skip-file-rendering"
_MANIFEST_MARKERS: Final = (b"apiVersion:", b"kind:", b"metadata:")


class _Candidate(msgspec.Struct, frozen=True):
    path: Path
    data: bytes


def render_directory(
    source: Object, folder: Path, tree: Tree, env: Mapping[str, str], options: RenderOptions
) -> Iterator[RenderedObject]:
    directory = fields(source.get("directory"))
    for candidate in list(_candidates(directory, folder, tree.root, options)):
        shown = str(candidate.path.relative_to(tree.root))
        if candidate.path.name.endswith(".jsonnet"):
            if "Directory" not in options.disabled_tools:
                yield from evaluate_jsonnet(candidate.path, directory, folder, tree, env, options)
        elif candidate.path.name.endswith(".json"):
            yield from (_plain(document, shown) for document in _json(candidate))
        else:
            yield from (_plain(document, shown) for document in _yaml(candidate))


def _plain(document: DecodedObject, shown: str) -> RenderedObject:
    return RenderedObject(body=document.body, origin=Origin(path=shown, line=document.line))


def _candidates(directory: Object, folder: Path, root: Path, options: RenderOptions) -> Iterator[_Candidate]:
    total = 0
    try:
        for path in _files(folder, recurse=directory.get("recurse") is True):
            data = _data(path, directory, folder, root)
            if data is None:
                continue
            if not path.name.endswith(".jsonnet"):
                total += len(data)
                if options.most_manifest_bytes and total > options.most_manifest_bytes:
                    raise RenderProblem("exceeded max combined manifest file size")
            yield _Candidate(path, data)
    except RenderProblem as problem:
        raise RenderProblem(f"failed to get potentially valid manifests: {problem.text}") from None


def _files(folder: Path, *, recurse: bool) -> Iterator[Path]:
    if folder.is_symlink():  # Go's walk does not enter a root that is a link
        return
    if recurse:
        yield from (path for path in walk(folder) if path.is_symlink() or not path.is_dir())
    else:
        for name in sorted(os.listdir(folder)):
            path = folder / name
            if path.is_symlink() or not path.is_dir():
                yield path


def _data(path: Path, directory: Object, folder: Path, root: Path) -> bytes | None:
    """The content of a file that may be a manifest; `None` for one that is skipped."""
    relative = str(path.relative_to(folder))
    # Upstream's pattern does not match names with line breaks.
    if directory.get("disableExtensionFilter") is not True and not (
        path.name.endswith(_ENDINGS) and "\n" not in path.name
    ):
        return None

    def refused(why: str) -> RenderProblem:
        return RenderProblem(f'invalid manifest file "{CACHED_SOURCE}/{path.relative_to(root)}": {why}')

    if path.is_symlink():
        try:
            real = path.resolve(strict=True)
        except FileNotFoundError:
            return None
        except (OSError, RuntimeError):
            raise refused(
                f'failed to evaluate symlink at "{relative}": EvalSymlinks: too many links'
            ) from None
        if not str(real).startswith(f"{root}/"):
            raise refused(f'illegal filepath in symlink at "{relative}"')
    if not stat.S_ISREG(path.stat().st_mode):
        return None
    exclude, include = text(directory.get("exclude")), text(directory.get("include"))
    if (exclude and glob_match(exclude, relative)) or (include and not glob_match(include, relative)):
        return None
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise refused(f'failed to read "{relative}": {(problem.strerror or str(problem)).lower()}') from None
    return None if _SKIPPED in data else data


def _yaml(candidate: _Candidate) -> list[DecodedObject]:
    documents: list[DecodedObject] = []
    try:
        documents.extend(objects_in(candidate.data))
    except NotAnObject as problem:
        # A file that does not look like a manifest is ignored.
        if documents or all(mark in candidate.data for mark in _MANIFEST_MARKERS):
            raise RenderProblem(
                f'Failed to unmarshal "{candidate.path.name}": {problem.text}', code="FailedPrecondition"
            ) from None
    return documents


def _json(candidate: _Candidate) -> list[DecodedObject]:
    """The object of a `.json` file, which must contain exactly one; unlike YAML it is never ignored."""
    import json

    name = candidate.path.name

    def refused(why: str) -> RenderProblem:
        return RenderProblem(f'Failed to unmarshal "{name}": {why}', code="FailedPrecondition")

    try:
        content = decoded(candidate.data).lstrip()
        _, end = json.JSONDecoder().raw_decode(content)
    except json.JSONDecodeError as problem:
        raise refused(_go_json_error(problem)) from None
    except RecursionError:
        raise refused("exceeded max depth") from None
    except Invalid:
        raise refused("invalid character '\\ufffd' looking for beginning of value") from None
    if content[end:].strip():
        raise RenderProblem(
            f'Found multiple objects in "{name}". Only single objects are allowed in JSON files.',
            code="FailedPrecondition",
        )
    try:
        for obj in objects_in(content):
            return [obj]
        as_object(None)
    except NotAnObject as problem:
        raise refused(
            problem.text.removeprefix("failed to unmarshal manifest: ").rpartition("JSON: ")[2]
        ) from None
    return []


def _go_json_error(problem: ValueError) -> str:
    import json

    assert isinstance(problem, json.JSONDecodeError)
    character = problem.doc[problem.pos : problem.pos + 1]
    if not character:
        return "EOF" if not problem.doc.strip() else "unexpected EOF"
    context = (
        "after object key:value pair" if "delimiter" in problem.msg else "looking for beginning of value"
    )
    return f"invalid character {character!r} {context}"


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
            part="its Jsonnet",
            shared="the Python package gojsonnet is not installed",
        )
    if result.code != 0:
        raise RenderProblem(
            f'Failed to evaluate jsonnet "{name}": the engine ended with {result.cause}',
            code="FailedPrecondition",
        )
    response = cast("Json", msgspec.json.decode(result.out))
    return fields(response)
