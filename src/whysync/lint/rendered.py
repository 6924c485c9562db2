"""Check the output of charts and kustomizations.

Each is checked separately, in addition to the plain files. Missing tools, and sources that need more than the
available files, are notes and not findings.
"""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from whysync.argocd.application_sets.errors import NotExpanded
from whysync.argocd.repo_server.git_url import repository_key
from whysync.deadline import stage
from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.rule import Layer, Rule
from whysync.errors import WhysyncError
from whysync.files import read_file
from whysync.fixes.rendered_lines import KustomizedLines, in_template
from whysync.json_tree import Object, fields, items, text
from whysync.lint.check_tree import CheckedTree
from whysync.manifests.encrypted import is_sops, without_sops
from whysync.manifests.files import File, Item, Note, Part
from whysync.manifests.kustomizations import Kustomization
from whysync.manifests.tree import AppSpec, Tree

if TYPE_CHECKING:
    from whysync.argocd.application_sets.inputs import RegisteredCluster
    from whysync.argocd.repo_server.git.tree import Tree as Copy
    from whysync.argocd.repo_server.render import RefSource, RenderedObject

_LAYERS = (Layer.SCHEMA, Layer.REFERENCES, Layer.GITOPS)
_MAX_SOURCES = 1000
_SECONDS_PER_SOURCE = 30.0
"""Seconds for one source and for all of them: a template may never finish."""
_SECONDS_IN_TOTAL = 300.0
_MAX_APPS_OF_SOURCE = 20
"""Applications, such as those of an ApplicationSet, for which the same chart is rendered."""
_NEUTRAL = "release-name"
"""The name of a release that no Application names: Helm's own default."""


class Source(NamedTuple):
    """A folder of the tree, and how to render it: as an Application specifies, or without values."""

    folder: str
    tool: str
    app: Object
    source: Object
    is_named: bool
    """Does an Application in the files use it? Otherwise it may be a base for others."""


class SourcePaths:
    """Which Applications use a folder: by the path from the root of the repository.

    If only a part of a repository is linted, the root is unknown: then the end of the path has to match
    exactly one folder.
    """

    def __init__(self, tree: Tree, folders: Iterable[str], root: RenderRoot) -> None:
        by_path = {root.relative(folder): folder for folder in folders}
        self._apps: dict[str, list[tuple[AppSpec, Object]]] = {}
        for app in _with_generated(tree, root.root):
            for source in (fields(app.spec.get("source")), *map(fields, items(app.spec.get("sources")))):
                path = text(source.get("path"))
                if not path or source.get("chart"):
                    continue
                path = posixpath.normpath(path.strip("/") or ".")
                folder = by_path.get(path)
                if folder is None and not root.is_repository:
                    matching = [full for below, full in by_path.items() if below.endswith(f"/{path}")]
                    folder = matching[0] if len(matching) == 1 else None
                if folder is not None:
                    self._apps.setdefault(folder, []).append((app, source))

    def of(self, folder: str) -> list[tuple[AppSpec, Object]]:
        """Applications and their sources; those that render the same objects once."""
        unique: dict[bytes, tuple[AppSpec, Object]] = {}
        for app, source in self._apps.get(folder, ()):
            relevant = {
                key: value for key, value in source.items() if key not in ("repoURL", "targetRevision")
            }
            destination = fields(app.spec.get("destination")).get("namespace")
            sources = app.spec.get("sources")
            key = msgspec.json.encode([app.item.ref.name, destination, relevant, sources])
            unique.setdefault(key, (app, source))
        return list(unique.values())[:_MAX_APPS_OF_SOURCE]


class _Folder:
    """What generators of ApplicationSets can read here: the files, taken to be those of the repository."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def folder_of(self, options: Object) -> Path:
        del options  # every repository is taken to be this one
        return self._root

    def clusters(self) -> list[RegisteredCluster]:
        raise NotExpanded("the registered clusters are not known")

    def recorded(self, application_set: str, kind: str, number: int) -> list[Object]:
        raise NotExpanded(f"the answer of {kind} generator {number} of {application_set} is not known")


def _with_generated(tree: Tree, root: Path) -> Iterator[AppSpec]:
    """The Applications in the files, and those that ApplicationSets generate from these files."""
    from whysync.argocd.application_sets.expand import expanded

    for app in tree.app_specs:
        if not app.is_template:
            yield app
            continue
        with suppress(NotExpanded, OSError):
            for body in expanded(app.item.body, _Folder(root)):
                item = Item(body, app.item.file, app.item.document, app.item.inside)
                yield AppSpec(item, "/spec", fields(body.get("spec")), is_template=False)


def sources_of(tree: Tree, charts: Iterable[str], root: RenderRoot) -> Iterator[Source]:
    """Charts, and the kustomizations that are not a base of others."""
    charts = sorted(charts)
    apps = SourcePaths(tree, [*charts, *tree.kustomizations], root)
    sources = [(folder, "Helm") for folder in charts]
    sources += [(folder, "Kustomize") for folder in _roots(tree, apps)]
    for folder, tool in sources:
        used = apps.of(folder)
        if not used:
            app: Object = {"metadata": {"name": _NEUTRAL}, "spec": {"destination": {"namespace": "default"}}}
            yield Source(folder, tool, app, {"path": folder}, is_named=False)
        for app_spec, source in used:
            yield Source(folder, tool, app_spec.item.body, {**source, "path": folder}, is_named=True)


def _roots(tree: Tree, apps: SourcePaths) -> list[str]:
    """Kustomizations that an Application uses or that are not a base of others, and one of each cycle.

    Kustomize rejects cycles.
    """
    kustomizations = tree.kustomizations
    used = {path for kustomization in kustomizations.values() for path in kustomization.resources}
    complete = sorted(
        name
        for name, kustomization in kustomizations.items()
        if kustomization.body.get("kind") != "Component"
    )
    roots = [name for name in complete if name not in used or apps.of(name)]
    reached = _with_bases(roots, kustomizations)
    cycles = [name for name in complete if name not in reached]
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


class Rendered(NamedTuple):
    """Findings about rendered objects, what could not be rendered, and the number of objects.

    `confirmed` has rule, file and field of all findings, as the rendered objects have them. `judged` are the
    files that only rendered kustomizations use: whatever is wrong in them is in `findings`.
    """

    findings: list[Finding]
    notes: list[Note]
    objects: int
    confirmed: set[tuple[str, str, str | None]]
    judged: set[str]


_NOTHING = Rendered([], [], 0, set(), set())


def rendered(
    tree: Tree,
    rules: Iterable[Rule[Tree]],
    charts: Iterable[str],
    paths: Iterable[str],
    plain: Iterable[Finding],
    progress: Callable[[str, int], None] | None = None,
) -> Rendered:
    """`plain` are the findings about the files as they are written; `progress` gets what is done."""
    from whysync.argocd.repo_server.git.tree import tree_of_folder

    chosen = [rule for rule in rules if rule.layer in _LAYERS]
    render_root = RenderRoot(paths)
    sources = list(sources_of(tree, charts, render_root))
    if not sources or not chosen:
        return _NOTHING
    plain = list(plain)
    suspects = {finding.path for finding in plain}
    sources.sort(
        key=lambda source: (not source.is_named, suspects.isdisjoint(_files_of([source.folder], tree)))
    )
    try:
        copied = tree_of_folder(render_root.root)
    except (WhysyncError, OSError) as problem:
        why = f"charts and kustomizations are not rendered: {problem}"
        return _NOTHING._replace(notes=[Note(path="", why=why)])
    with copied:
        done = stage("rendering charts and kustomizations", min(len(sources), _MAX_SOURCES), progress)
        return _render_all(sources, copied, render_root, _Checker(tree, chosen, render_root, plain), done)


def _render_all(
    sources: list[Source],
    copied: Copy,
    render_root: RenderRoot,
    checker: _Checker,
    done: Callable[[int], None],
) -> Rendered:
    from whysync.argocd.repo_server.render import (
        CannotRender,
        RenderOptions,
        RenderProblem,
        ToolMissing,
        render,
    )
    from whysync.argocd.repo_server.render.options import USUAL

    tree = checker.tree
    notes, missing = list[Note](), set[str]()
    rendered_roots, other_roots = list[str](), list[str]()
    end = time.monotonic() + _SECONDS_IN_TOTAL
    for number, to_render in enumerate(sources):
        folder = to_render.folder or "."
        other_roots.append(to_render.folder)
        if number >= _MAX_SOURCES:
            continue
        done(number)
        seconds_left = end - time.monotonic()
        if seconds_left <= 0:
            why = f"not rendered: the others took {_SECONDS_IN_TOTAL:.0f} s"
            notes.append(Note(path=folder, why=why, matters=True))
            continue
        if to_render.tool in missing:
            notes.append(Note(path=folder, why=f"not rendered: {to_render.tool} is not installed"))
            continue
        if to_render.tool == "Kustomize" and _has_helm_charts(to_render.folder, tree):
            notes.append(Note(path=folder, why="not rendered: it uses helmCharts"))
            continue
        if elsewhere := _values_elsewhere(to_render, copied):
            notes.append(Note(path=folder, why=f"not rendered: its values are in {elsewhere}"))
            continue
        try:
            source: Object = {**to_render.source, "path": render_root.relative(to_render.folder)}
            bounds = replace(USUAL, seconds=min(_SECONDS_PER_SOURCE, seconds_left))
            options = RenderOptions(bounds=bounds, refs=_refs(to_render, copied))
            result = render(to_render.app, source, copied, commit="", options=options)
        except CannotRender as problem:
            missing |= {to_render.tool} if isinstance(problem, ToolMissing) else set()
            notes.append(Note(path=folder, why=f"not rendered: {problem.what}"))
            continue
        except RenderProblem as problem:
            why = f"cannot be rendered{'' if to_render.is_named else ' by itself'}: {_short(str(problem))}"
            notes.append(Note(path=folder, why=why, matters=to_render.is_named))
            continue
        rendered_roots.append(other_roots.pop())
        checker.check(to_render, result.objects)
    if len(sources) > _MAX_SOURCES:
        notes.append(Note(path="", why=f"{len(sources) - _MAX_SOURCES} more sources are not rendered"))
    judged = _files_of(rendered_roots, tree) - _files_of(other_roots, tree)
    return Rendered(checker.findings, notes, checker.objects, checker.confirmed, judged)


def _has_helm_charts(folder: str, tree: Tree) -> bool:
    """Charts that Kustomize downloads, which needs `--enable-helm`."""
    return any(
        tree.kustomizations[name].body.get("helmCharts")
        for name in _with_bases([folder], tree.kustomizations)
    )


def _files_of(roots: Iterable[str], tree: Tree) -> set[str]:
    """The files that these kustomizations and their bases use."""
    kustomizations = tree.kustomizations
    return {path for name in _with_bases(roots, kustomizations) for path in kustomizations[name].resources}


def _values_elsewhere(source: Source, copied: Copy) -> str:
    """The other repository that a values file of the source is in; empty if all are here, or missing."""
    if fields(source.source.get("helm")).get("ignoreMissingValueFiles") is True:
        return ""
    others = map(fields, items(fields(source.app.get("spec")).get("sources")))
    urls = {text(other.get("ref")): text(other.get("repoURL")) for other in others if other.get("ref")}
    own = repository_key(text(source.source.get("repoURL")))
    for name in map(text, items(fields(source.source.get("helm")).get("valueFiles"))):
        reference, _, path = name.removeprefix("$").partition("/")
        url = urls.get(reference, "") if name.startswith("$") else ""
        if url and repository_key(url) != own and not (copied.root / path).is_file():
            return url
    return ""


def _refs(source: Source, copied: Copy) -> dict[str, RefSource]:
    """The other sources of the Application, for values files: those in Git are taken to be these files."""
    from whysync.argocd.repo_server.render import RefSource

    others = map(fields, items(fields(source.app.get("spec")).get("sources")))
    return {
        f"${text(other.get('ref'))}": RefSource(
            repo=text(other.get("repoURL")),
            target_revision=text(other.get("targetRevision")),
            chart=text(other.get("chart")),
            tree=None if other.get("chart") else copied,
        )
        for other in others
        if other.get("ref")
    }


class RenderRoot:
    """The folder that is copied for rendering: the repository of the paths, or their common parent."""

    def __init__(self, paths: Iterable[str]) -> None:
        resolved = [Path(path) for path in paths]
        full = [path.absolute() if path.is_dir() else path.absolute().parent for path in resolved]
        common = Path(os.path.commonpath(full))
        above = (folder for folder in (common, *common.parents) if (folder / ".git").exists())
        repository = next(above, None)
        self.is_repository = repository is not None
        self.root = repository or common
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


class _Checker:
    """Checks the objects of each source, and finds where they are written."""

    def __init__(
        self, tree: Tree, rules: list[Rule[Tree]], render_root: RenderRoot, plain: Iterable[Finding]
    ) -> None:
        self.tree = tree
        self._plain = {(finding.rule, finding.path, finding.field) for finding in plain}
        self._rules = rules
        self._layers = {rule.id: rule.layer for rule in rules}
        self._root = render_root
        self._files = {file.path: file for file in tree.files}
        items_by_file: dict[str, list[Item]] = {}
        for item in tree.items:
            items_by_file.setdefault(item.file.path, []).append(item)
        self._kustomized = KustomizedLines(self._files, items_by_file)
        self._templates: dict[str, str] = {}
        self.findings: list[Finding] = []
        self.confirmed: set[tuple[str, str, str | None]] = set()
        self.objects = 0

    def check(self, source: Source, objects: Iterable[RenderedObject]) -> None:
        is_base = source.tool == "Kustomize" and not source.is_named
        tree = Tree([], self.tree.configuration, self.tree.definitions, source_tree=self.tree)
        files: dict[str, File] = {}
        bodies: list[Object] = []
        for rendered_object in objects:
            body = rendered_object.body
            body = without_sops(body) if is_sops(body) else body
            path = self._root.display_path(rendered_object.origin.path) or source.folder or "."
            file = files.setdefault(path, File(path, "", [], []))
            file.part = Part.MANIFESTS
            item = Item(body, file, -2 - len(bodies))
            item.kustomized = is_base
            tree.add(item)
            bodies.append(body)
        self.objects += len(bodies)
        rules = [rule for rule in self._rules if rule.layer is not Layer.GITOPS] if is_base else self._rules
        for finding in CheckedTree(tree, rules, hypothetical=not source.is_named).findings:
            self.confirmed.add((finding.rule, finding.path, finding.field))
            location = finding.location
            if location is None or not 0 <= -2 - location.document < len(bodies):
                self.findings.append(finding)
                continue
            located = self._located(finding, location, bodies[-2 - location.document], source)
            if located is not None:
                self.findings.append(replace(finding, location=located))

    def _located(
        self, finding: Finding, location: FileLocation, body: Object, source: Source
    ) -> FileLocation | None:
        """Where it is written; `None` if other values than the default ones may change it."""
        pointer = finding.field or "/kind"
        if source.tool == "Helm":
            position = in_template(self._template(location.path), body, pointer)
            if not source.is_named and self._layers.get(finding.rule) is Layer.SCHEMA:
                reliable = position.is_fixed if finding.rule == "value_invalid" else position.is_literal
                if not reliable:
                    return None
            return replace(location, line=position.line, column=position.column)
        used = _with_bases([source.folder], self.tree.kustomizations)
        kustomizations = [
            self.tree.kustomizations[name] for name in sorted(used, key=lambda n: n != source.folder)
        ]
        patches = [path for kustomization in kustomizations for path in sorted(kustomization.patches)]
        path, at = self._kustomized.position(
            body,
            pointer,
            location.path,
            patches,
            [kustomization.path for kustomization in kustomizations],
            is_in_base=(finding.rule, finding.path, finding.field) in self._plain,
        )
        return replace(location, path=path, line=at.line, column=at.column)

    def _template(self, path: str) -> str:
        if path not in self._templates:
            try:
                self._templates[path] = read_file(path).decode("utf-8", "replace")
            except OSError:
                self._templates[path] = ""
        return self._templates[path]


def combined(
    plain: Iterable[Finding], more: Rendered, layers: Mapping[str, Layer | None]
) -> Iterator[Finding]:
    """Findings about the plain files and the rendered objects, each once.

    A file that kustomizations use is judged as they render it: overlays replace values, and Kustomize quotes
    some. Its own finding stays if a rendered object has it too, because it has the exact line.
    """
    kept = [
        finding
        for finding in plain
        if finding.path not in more.judged
        or layers.get(finding.rule) is not Layer.SCHEMA
        or (finding.rule, finding.path, finding.field) in more.confirmed
    ]
    yield from kept
    keys = {(finding.rule, finding.about.kind, finding.field, finding.verdict) for finding in kept}
    located = {(finding.rule, finding.path, finding.field) for finding in kept}
    for finding in more.findings:
        key = finding.rule, finding.about.kind, finding.field, finding.verdict
        if key not in keys and (finding.rule, finding.path, finding.field) not in located:
            keys.add(key)
            yield finding
