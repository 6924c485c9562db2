"""Check the output of charts and kustomizations.

Each is checked separately, in addition to the plain files. Missing tools, and sources that need more than the
available files, are notes and not findings.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
_MOST = 200
_LONGEST = 30.0
"""Seconds for one source and for all of them: a template may never finish."""
_PATIENCE = 300.0


class Source(NamedTuple):
    """A folder of the tree, and how to render it: as an Application specifies, or without values."""

    folder: str
    tool: str
    app: Object
    source: Object
    is_named: bool
    """Does an Application among the files use it? Otherwise it may be a base for others."""


def sources_of(tree: Tree, charts: Iterable[str]) -> Iterator[Source]:
    """Charts, and the kustomizations that are not a base of others."""
    found = [(folder, "Helm") for folder in sorted(charts)]
    found += [(folder, "Kustomize") for folder in _roots(tree)]
    for folder, tool in found:
        told = [
            app_spec
            for app_spec in tree.app_specs
            if not app_spec.is_template and _names(app_spec.spec, folder)
        ]
        if not told:
            name = folder.rpartition("/")[2] or "app"
            app: Object = {"metadata": {"name": name}, "spec": {"destination": {"namespace": "default"}}}
            yield Source(folder, tool, app, {"path": folder}, is_named=False)
        for one in told:
            yield Source(
                folder, tool, one.item.body, {**_source(one.spec, folder), "path": folder}, is_named=True
            )


def _roots(tree: Tree) -> list[str]:
    """Kustomizations that are not a base of others, and one of each cycle, which Kustomize refuses."""
    known = tree.kustomizations
    used = {path for one in known.values() for path in one.resources}
    whole = sorted(name for name, one in known.items() if one.body.get("kind") != "Component")
    roots = [name for name in whole if name not in used]
    seen = _below(roots, known)
    rings = [name for name in whole if name not in seen]
    rings.sort(key=lambda name: not any(_names(app_spec.spec, name) for app_spec in tree.app_specs))
    for name in rings:
        if name not in seen:
            roots.append(name)
            seen |= _below([name], known)
    return roots


def _below(names: Iterable[str], known: Mapping[str, Kustomization]) -> set[str]:
    """These and all their bases."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        here = waiting.pop()
        if here not in seen and here in known:
            seen.add(here)
            waiting += known[here].resources
    return seen


def _names(spec: Object, folder: str) -> bool:
    return bool(_source(spec, folder))


def _source(spec: Object, folder: str) -> Object:
    for one in (fields(spec.get("source")), *map(fields, items(spec.get("sources")))):
        path = text(one.get("path")).strip("/").removeprefix("./")
        if path and path != "." and (folder == path or folder.endswith(f"/{path}")):
            return one
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
    wanted = list(sources_of(tree, charts))
    if not wanted or not chosen:
        return Rendered([], [], 0)
    place = _Place(paths)
    try:
        copied = tree_of_folder(place.root)
    except (WhysyncError, OSError) as problem:
        why = f"charts and kustomizations are not rendered: {problem}"
        return Rendered([], [Note(path="", why=why)], 0)
    with copied:
        return _all(wanted, copied, place, tree, chosen)


def _all(wanted: list[Source], copied: Copy, place: _Place, tree: Tree, rules: list[Rule[Tree]]) -> Rendered:
    from whysync.argocd.repo_server.render import (
        CannotRender,
        RenderOptions,
        RenderProblem,
        ToolMissing,
        render,
    )
    from whysync.argocd.repo_server.render.options import USUAL

    found, notes, count = list[Finding](), list[Note](), 0
    missing: set[str] = set()
    end = time.monotonic() + _PATIENCE
    for one in wanted[:_MOST]:
        where = one.folder or "."
        left = end - time.monotonic()
        if left <= 0:
            notes.append(
                Note(path=where, why=f"not rendered: the others took {_PATIENCE:.0f} s", matters=True)
            )
            continue
        if one.tool in missing:
            notes.append(Note(path=where, why=f"not rendered: there is no {one.tool} here"))
            continue
        try:
            source: Object = {**one.source, "path": place.inside(one.folder)}
            bounds = replace(USUAL, seconds=min(_LONGEST, left))
            made = render(one.app, source, copied, commit="", options=RenderOptions(bounds=bounds))
        except CannotRender as problem:
            missing |= {one.tool} if isinstance(problem, ToolMissing) else set()
            notes.append(Note(path=where, why=f"not rendered: {problem.what}"))
            continue
        except RenderProblem as problem:
            why = f"cannot be rendered{'' if one.is_named else ' by itself'}: {_short(str(problem))}"
            notes.append(Note(path=where, why=why, matters=one.is_named))
            continue
        objects = [(thing.body, place.shown(thing.origin.path) or where) for thing in made.objects]
        count += len(objects)
        found += _checked(objects, tree, rules, one)
    if len(wanted) > _MOST:
        notes.append(Note(path="", why=f"{len(wanted) - _MOST} more sources are not rendered"))
    return Rendered(found, notes, count)


class _Place:
    """The folder that is copied for rendering: the repository of the paths, or their common parent."""

    def __init__(self, paths: Iterable[str]) -> None:
        given = [Path(path) for path in paths]
        full = [path.absolute() if path.is_dir() else path.absolute().parent for path in given]
        common = Path(os.path.commonpath(full))
        above = (folder for folder in (common, *common.parents) if (folder / ".git").exists())
        self.root = next(above, common)
        self._absolute = any(path.is_absolute() for path in given)

    def inside(self, folder: str) -> str:
        return os.path.relpath(Path(folder or ".").absolute(), self.root)

    def shown(self, path: str) -> str:
        """A path as the other paths are shown."""
        if not path:
            return ""
        full = self.root / path
        return full.as_posix() if self._absolute else Path(os.path.relpath(full)).as_posix()


def _short(problem: str) -> str:
    """The last line of the tool's error."""
    said = problem.rpartition('err="')[2].rpartition("Error: ")[2]
    flat = " ".join(said.rpartition("accumulating resources: ")[2].split())
    return flat if len(flat) <= 300 else f"{flat[:120]} … {flat[-175:]}"


def _checked(
    objects: list[tuple[Object, str]], beside: Tree, rules: list[Rule[Tree]], source: Source
) -> list[Finding]:
    is_base = source.tool == "Kustomize" and not source.is_named
    world = Tree([], beside.configuration, beside.definitions, beside=beside)
    files: dict[str, File] = {}
    for number, (body, path) in enumerate(objects):
        file = files.setdefault(path, File(path, "", [], []))
        file.part = Part.MANIFESTS
        item = Item(body, file, -2 - number)
        item.kustomized = is_base
        world.add(item)
    if is_base:
        rules = [rule for rule in rules if rule.layer is not Layer.GITOPS]
    return CheckedTree(world, rules, imagined=not source.is_named).findings


def beyond(rendered: Iterable[Finding], plain: Iterable[Finding]) -> list[Finding]:
    """Findings about rendered objects that the plain files do not have, each once."""
    plain = list(plain)
    said = {(one.rule, one.about.kind, one.field, one.verdict) for one in plain}
    placed = {(one.rule, one.path, one.field) for one in plain}
    new: list[Finding] = []
    for one in rendered:
        key = one.rule, one.about.kind, one.field, one.verdict
        if key not in said and (one.rule, one.path, one.field) not in placed:
            said.add(key)
            new.append(one)
    return new
