"""Check the output of charts and kustomizations.

Each is checked separately, in addition to the plain files. Missing tools, and sources that need more than the
available files, are notes and not findings.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from whysync.diagnosis.finding import Finding
from whysync.diagnosis.rule import Layer, Rule
from whysync.errors import WhysyncError
from whysync.json_tree import Object, fields, items, text
from whysync.lint.check_tree import CheckedTree
from whysync.manifests.files import File, Item, Note, Part
from whysync.manifests.kustomizations import Kustomization
from whysync.manifests.tree import Tree

if TYPE_CHECKING:
    from whysync.argocd.repo_server.git.tree import Tree as Copy

_LAYERS = (Layer.SCHEMA, Layer.REFERENCES, Layer.GITOPS)
_MAX_SOURCES = 200
_SECONDS_PER_SOURCE = 30.0
"""Seconds for one source and for all of them: a template may never finish."""
_SECONDS_IN_TOTAL = 300.0


class Source(NamedTuple):
    """A folder of the tree, and how to render it: as an Application specifies, or without values."""

    folder: str
    tool: str
    app: Object
    source: Object
    is_named: bool
    """Does an Application in the files use it? Otherwise it may be a base for others."""


def sources_of(tree: Tree, charts: Iterable[str]) -> Iterator[Source]:
    """Charts, and the kustomizations that are not a base of others."""
    sources = [(folder, "Helm") for folder in sorted(charts)]
    sources += [(folder, "Kustomize") for folder in _roots(tree)]
    for folder, tool in sources:
        apps = [
            app_spec
            for app_spec in tree.app_specs
            if not app_spec.is_template and _is_source(app_spec.spec, folder)
        ]
        if not apps:
            name = folder.rpartition("/")[2] or "app"
            app: Object = {"metadata": {"name": name}, "spec": {"destination": {"namespace": "default"}}}
            yield Source(folder, tool, app, {"path": folder}, is_named=False)
        for app_spec in apps:
            yield Source(
                folder,
                tool,
                app_spec.item.body,
                {**_source(app_spec.spec, folder), "path": folder},
                is_named=True,
            )


def _roots(tree: Tree) -> list[str]:
    """Kustomizations that are not a base of others, and one of each cycle, which Kustomize rejects."""
    kustomizations = tree.kustomizations
    used = {path for kustomization in kustomizations.values() for path in kustomization.resources}
    complete = sorted(
        name
        for name, kustomization in kustomizations.items()
        if kustomization.body.get("kind") != "Component"
    )
    roots = [name for name in complete if name not in used]
    reached = _with_bases(roots, kustomizations)
    cycles = [name for name in complete if name not in reached]
    cycles.sort(key=lambda name: not any(_is_source(app_spec.spec, name) for app_spec in tree.app_specs))
    for name in cycles:
        if name not in reached:
            roots.append(name)
            reached |= _with_bases([name], kustomizations)
    return roots


def _with_bases(names: Iterable[str], kustomizations: Mapping[str, Kustomization]) -> set[str]:
    """These and all their bases."""
    reached: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in reached and name in kustomizations:
            reached.add(name)
            queue += kustomizations[name].resources
    return reached


def _is_source(spec: Object, folder: str) -> bool:
    return bool(_source(spec, folder))


def _source(spec: Object, folder: str) -> Object:
    for source in (fields(spec.get("source")), *map(fields, items(spec.get("sources")))):
        path = text(source.get("path")).strip("/").removeprefix("./")
        if path and path != "." and (folder == path or folder.endswith(f"/{path}")):
            return source
    return {}


class Rendered(NamedTuple):
    """Findings about rendered objects, what could not be rendered, and the number of objects."""

    findings: list[Finding]
    notes: list[Note]
    objects: int


def rendered(
    tree: Tree, rules: Iterable[Rule[Tree]], charts: Iterable[str], paths: Iterable[str]
) -> Rendered:
    from whysync.argocd.repo_server.git.tree import tree_of_folder

    chosen = [rule for rule in rules if rule.layer in _LAYERS]
    sources = list(sources_of(tree, charts))
    if not sources or not chosen:
        return Rendered([], [], 0)
    render_root = _RenderRoot(paths)
    try:
        copied = tree_of_folder(render_root.root)
    except (WhysyncError, OSError) as problem:
        why = f"charts and kustomizations are not rendered: {problem}"
        return Rendered([], [Note(path="", why=why)], 0)
    with copied:
        return _render_all(sources, copied, render_root, tree, chosen)


def _render_all(
    sources: list[Source], copied: Copy, render_root: _RenderRoot, tree: Tree, rules: list[Rule[Tree]]
) -> Rendered:
    from whysync.argocd.repo_server.render import (
        CannotRender,
        RenderOptions,
        RenderProblem,
        ToolMissing,
        render,
    )
    from whysync.argocd.repo_server.render.options import USUAL

    findings, notes, count = list[Finding](), list[Note](), 0
    missing: set[str] = set()
    end = time.monotonic() + _SECONDS_IN_TOTAL
    for to_render in sources[:_MAX_SOURCES]:
        folder = to_render.folder or "."
        seconds_left = end - time.monotonic()
        if seconds_left <= 0:
            notes.append(
                Note(
                    path=folder, why=f"not rendered: the others took {_SECONDS_IN_TOTAL:.0f} s", matters=True
                )
            )
            continue
        if to_render.tool in missing:
            notes.append(Note(path=folder, why=f"not rendered: {to_render.tool} is not installed"))
            continue
        try:
            source: Object = {**to_render.source, "path": render_root.relative(to_render.folder)}
            bounds = replace(USUAL, seconds=min(_SECONDS_PER_SOURCE, seconds_left))
            result = render(to_render.app, source, copied, commit="", options=RenderOptions(bounds=bounds))
        except CannotRender as problem:
            missing |= {to_render.tool} if isinstance(problem, ToolMissing) else set()
            notes.append(Note(path=folder, why=f"not rendered: {problem.what}"))
            continue
        except RenderProblem as problem:
            why = f"cannot be rendered{'' if to_render.is_named else ' by itself'}: {_short(str(problem))}"
            notes.append(Note(path=folder, why=why, matters=to_render.is_named))
            continue
        objects = [
            (rendered_object.body, render_root.display_path(rendered_object.origin.path) or folder)
            for rendered_object in result.objects
        ]
        count += len(objects)
        findings += _checked(objects, tree, rules, to_render)
    if len(sources) > _MAX_SOURCES:
        notes.append(Note(path="", why=f"{len(sources) - _MAX_SOURCES} more sources are not rendered"))
    return Rendered(findings, notes, count)


class _RenderRoot:
    """The folder that is copied for rendering: the repository of the paths, or their common parent."""

    def __init__(self, paths: Iterable[str]) -> None:
        resolved = [Path(path) for path in paths]
        full = [path.absolute() if path.is_dir() else path.absolute().parent for path in resolved]
        common = Path(os.path.commonpath(full))
        above = (folder for folder in (common, *common.parents) if (folder / ".git").exists())
        self.root = next(above, common)
        self._absolute = any(path.is_absolute() for path in resolved)

    def relative(self, folder: str) -> str:
        return os.path.relpath(Path(folder or ".").absolute(), self.root)

    def display_path(self, path: str) -> str:
        """A path as the other paths are shown."""
        if not path:
            return ""
        full = self.root / path
        return full.as_posix() if self._absolute else Path(os.path.relpath(full)).as_posix()


def _short(problem: str) -> str:
    """The last line of the tool's error."""
    error = problem.rpartition('err="')[2].rpartition("Error: ")[2]
    flat = " ".join(error.rpartition("accumulating resources: ")[2].split())
    return flat if len(flat) <= 300 else f"{flat[:120]} … {flat[-175:]}"


def _checked(
    objects: list[tuple[Object, str]], source_tree: Tree, rules: list[Rule[Tree]], source: Source
) -> list[Finding]:
    is_base = source.tool == "Kustomize" and not source.is_named
    rendered_tree = Tree([], source_tree.configuration, source_tree.definitions, source_tree=source_tree)
    files: dict[str, File] = {}
    for number, (body, path) in enumerate(objects):
        file = files.setdefault(path, File(path, "", [], []))
        file.part = Part.MANIFESTS
        item = Item(body, file, -2 - number)
        item.kustomized = is_base
        rendered_tree.add(item)
    if is_base:
        rules = [rule for rule in rules if rule.layer is not Layer.GITOPS]
    return CheckedTree(rendered_tree, rules, hypothetical=not source.is_named).findings


def not_in_plain_files(rendered: Iterable[Finding], plain: Iterable[Finding]) -> list[Finding]:
    """Findings about rendered objects that the plain files do not have, each once."""
    plain = list(plain)
    keys = {(finding.rule, finding.about.kind, finding.field, finding.verdict) for finding in plain}
    located = {(finding.rule, finding.path, finding.field) for finding in plain}
    new: list[Finding] = []
    for finding in rendered:
        key = finding.rule, finding.about.kind, finding.field, finding.verdict
        if key not in keys and (finding.rule, finding.path, finding.field) not in located:
            keys.add(key)
            new.append(finding)
    return new
