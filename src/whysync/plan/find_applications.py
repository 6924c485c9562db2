"""Find the Applications of a tree: in its files, and in the output of other Applications."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

import msgspec

from whysync.argocd.app_controller.deletion.finalizers import Finalizers
from whysync.argocd.application_sets.errors import NotExpanded
from whysync.argocd.application_sets.expand import expanded
from whysync.argocd.application_sets.inputs import RegisteredCluster
from whysync.argocd.repo_server.git.tree import walk
from whysync.argocd.repo_server.render import RenderProblem
from whysync.argocd.repo_server.render.decode import NotAnObject, objects_in
from whysync.argocd.repo_server.render.helm import dependencies_of
from whysync.argocd.repo_server.repository import RepoProblem
from whysync.facts.checkout import Checkout as Files
from whysync.fixes.kustomize_edits import reached_folders
from whysync.golang.glob import path_match
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.ref import group_of
from whysync.plan.checkout import Checkout, Side, sources_of
from whysync.plan.generator_inputs import secret_clusters
from whysync.plan.placeholders import chart_of_template, fixed_folder, has_placeholder, placeholder_of

_MAX_BYTES: Final = 5 << 20
_LOCAL: Final = "file://"
_APPLICATION_LINE: Final = re.compile(rb"^ *kind: *['\"]?Application(?:Set)?['\"]?\s*$", re.MULTILINE)
GENERATE_PATHS: Final = "argocd.argoproj.io/manifest-generate-paths"


class FoundApp(msgspec.Struct, frozen=True, kw_only=True):
    body: Object
    file: str
    """Path in the checkout; empty if another Application renders it."""
    made_by: tuple[str, str] = ("", "")
    """The file, or the Application that renders it, and the name of the ApplicationSet that generates it."""

    parent: tuple[str, str] = ("", "")
    """The name and the file of the Application whose output contains it, or contains what does."""

    @property
    def name(self) -> str:
        return qualified(self.body)

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.file or self.parent[1]

    @property
    def root(self) -> tuple[str, str]:
        """The Application in a file that leads to it, or itself."""
        return self.parent if self.parent[0] else self.key


def qualified(body: Object) -> str:
    meta = fields(body.get("metadata"))
    return f"{text(meta.get('namespace')) or 'argocd'}/{text(meta.get('name'))}"


def is_application(body: Object) -> bool:
    return body.get("kind") == "Application" and group_of(text(body.get("apiVersion"))) == "argoproj.io"


class NotExpandedSet(msgspec.Struct, frozen=True):
    """An ApplicationSet that is not expanded, or a file of Applications that is not YAML."""

    file: str
    why: str
    name: str = ""
    is_unreadable: bool = False
    was_there: bool = False
    """Does the base have it too?"""

    @property
    def key(self) -> tuple[str, str]:
        return self.file, self.name


def is_project(body: Object) -> bool:
    return body.get("kind") == "AppProject" and group_of(text(body.get("apiVersion"))) == "argoproj.io"


def unreadable_files(apps: Collection[FoundApp], side: Side) -> list[NotExpandedSet]:
    """Files of these apps that exist on a side, but cannot be read there."""
    found: list[NotExpandedSet] = []
    for file in sorted({app.file for app in apps if app.file}):
        path = side.tree.root / file
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_BYTES:
            continue
        try:
            list(objects_in(path.read_bytes()))
        except (NotAnObject, RecursionError) as problem:
            found.append(NotExpandedSet(file, str(problem), is_unreadable=True))
    return found


def deletes_resources(app: FoundApp) -> bool:
    """Are its resources deleted with the Application? Its finalizers decide."""
    return Finalizers.of(app.body).cascades


def apps_in(
    checkout: Checkout,
    side: Side,
    only: str = "",
    not_expanded: list[NotExpandedSet] | None = None,
    sets: dict[tuple[str, str], Object] | None = None,
) -> list[FoundApp]:
    """Applications in files, without copies of the same Application. Unreadable files are skipped.

    A repository with a folder for each cluster may have several with the same name. `sets` gets the
    ApplicationSets, by file and name.
    """
    apps: dict[tuple[str, str], FoundApp] = {}
    bodies: dict[str, list[Object]] = {}
    root = side.tree.root
    inputs = SideInputs(checkout, side)
    paths = [root / only] if only else list(walk(root))
    for path in paths:
        if path.suffix not in (".yaml", ".yml", ".json") or path.is_symlink() or not path.is_file():
            continue
        file = str(path.relative_to(root))
        for body in _objects(path, b"Application", b"argoproj.io"):
            is_set = is_application_set(body)
            made_by = (file, _name(body)) if is_set else ("", "")
            if sets is not None and is_set:
                sets[made_by] = body
            for application in applications_of_set(body, inputs, file, not_expanded) if is_set else (body,):
                if _is_complete(application, file, side):
                    app = FoundApp(body=placed(application), file=file, made_by=made_by)
                    found = bodies.setdefault(app.name, [])
                    if app.body not in found:
                        found.append(app.body)
                        apps.setdefault(app.key, app)
    return list(apps.values())


def projects_in(side: Side) -> Iterator[tuple[str, Object]]:
    """The AppProjects in files, each with its file."""
    root = side.tree.root
    for path in walk(root):
        if path.suffix in (".yaml", ".yml", ".json") and not path.is_symlink() and path.is_file():
            for body in _objects(path, b"AppProject", b"argoproj.io"):
                if is_project(body):
                    yield str(path.relative_to(root)), body


def _is_complete(body: Object, file: str, side: Side) -> bool:
    """Is it an Application as Argo CD gets it? A template of a chart is not: another app renders it."""
    if not is_application(body) or not text(dig(body, "metadata", "name")):
        return False
    return not (placeholder_of(body) and chart_of_template(file, side) is not None)


def charts_with_applications(side: Side) -> list[str]:
    """Folders of charts whose templates contain Applications or ApplicationSets that only Helm can render."""
    root = side.tree.root
    found: dict[str, None] = {}
    for path in walk(root):
        if path.suffix not in (".yaml", ".yml", ".tpl") or path.is_symlink() or not path.is_file():
            continue
        chart = chart_of_template(str(path.relative_to(root)), side)
        if chart is None or chart in found or path.stat().st_size > _MAX_BYTES:
            continue
        data = path.read_bytes()
        if b"{{" in data and b"argoproj.io" in data and _APPLICATION_LINE.search(data):
            found[chart] = None
    return list(found)


def undeployed(charts: Collection[str], apps: Collection[FoundApp], checkout: Checkout) -> list[str]:
    """The charts that no source of these apps renders, not even as a part of another chart."""
    root = checkout.head.tree.root
    folders = {folder for app in apps for folder in checkout.folders_of(app.body)}
    rendered = {used for folder in folders for used in _with_charts(root, folder)} if charts else set[str]()
    return [chart for chart in charts if not any(_within(chart, folder) for folder in rendered)]


def objects_in_files(
    checkout: Checkout,
    application: Object,
    wanted: Collection[tuple[str, str]],
    *,
    outside_of: Collection[str] = (),
) -> list[Object]:
    """Objects with these kinds and names in files of the sources of an Application, rendered or not.

    `outside_of` are folders whose files may be deployed by other Applications, which cannot be rendered.
    """
    root = checkout.head.tree.root
    folders = {
        root / text(source.get("path")).strip("/")
        for source in sources_of(application)
        if wanted and source.get("path") and checkout.contains_source(source)
    }
    return [
        body
        for folder in sorted(folders)
        if folder.is_relative_to(root) and folder.is_dir()
        for path in walk(folder)
        if path.suffix in (".yaml", ".yml", ".json") and not path.is_symlink() and path.is_file()
        if not any(_within(path.relative_to(root).as_posix(), hidden) for hidden in outside_of)
        for body in _objects(path, b"kind")
        if (text(body.get("kind")), text(dig(body, "metadata", "name"))) in wanted
    ]


def is_application_set(body: Object) -> bool:
    return body.get("kind") == "ApplicationSet" and group_of(text(body.get("apiVersion"))) == "argoproj.io"


def keeps_applications(body: Object) -> bool:
    """Does an ApplicationSet keep the Applications that it no longer generates?

    Deleting the set itself deletes them: it owns them.
    """
    return text(dig(body, "spec", "syncPolicy", "applicationsSync")) in ("create-only", "create-update")


class SideInputs:
    """The inputs of generators on one side of a checkout; a `GeneratorInputs`."""

    def __init__(self, checkout: Checkout, side: Side) -> None:
        self._checkout = checkout
        self._side = side
        self._clusters: tuple[RegisteredCluster, ...] | None = None

    def folder_of(self, options: Object) -> Path:
        if self._checkout.contains_source({**options, "path": ""}):
            return self._side.tree.root
        try:
            url, revision = text(options.get("repoURL")), text(options.get("revision"))
            return self._checkout.foreign_tree(url, revision).root
        except RepoProblem as problem:
            raise NotExpanded(f"its git generator reads another repository: {problem.message}") from problem

    def clusters(self) -> list[RegisteredCluster]:
        if self._clusters is None:
            registered = self._checkout.generator_files.clusters
            self._clusters = secret_clusters(_secrets(self._side)) if registered is None else registered
        if not self._clusters and self._checkout.generator_files.clusters is None:
            raise NotExpanded(
                "its clusters generator needs the clusters of Argo CD, and the repository has no cluster"
                " Secrets: give them with --clusters FILE"
            )
        return list(self._clusters)

    def registered(self) -> list[RegisteredCluster]:
        """The clusters as far as they are known."""
        with contextlib.suppress(NotExpanded):
            return self.clusters()
        return []

    def recorded(self, application_set: str, kind: str, number: int) -> list[Object]:
        return self._checkout.generator_files.answer(application_set, kind, number)


def _secrets(side: Side) -> Iterator[Object]:
    for path in walk(side.tree.root):
        if path.suffix in (".yaml", ".yml", ".json") and not path.is_symlink() and path.is_file():
            yield from _objects(path, b"argocd.argoproj.io/secret-type")


def applications_of_set(
    body: Object, inputs: SideInputs, file: str, not_expanded: list[NotExpandedSet] | None
) -> list[Object]:
    try:
        return expanded(body, inputs)
    except NotExpanded as problem:
        found = NotExpandedSet(file, str(problem), _name(body))
        if not_expanded is not None and found not in not_expanded:
            not_expanded.append(found)
        return []


def _name(body: Object) -> str:
    return text(dig(body, "metadata", "name"))


def placed(body: Object) -> Object:
    """The Application as Argo CD would have it: with a namespace and without a status."""
    meta = fields(body.get("metadata"))
    meta_with_namespace: Object = {**meta, "namespace": text(meta.get("namespace")) or "argocd"}
    return {
        **{key: value for key, value in body.items() if key not in ("status", "operation")},
        "metadata": meta_with_namespace,
    }


def _objects(path: Path, *marks: bytes) -> list[Object]:
    """The objects of a file that contains these texts."""
    if path.stat().st_size > _MAX_BYTES:
        return []
    data = path.read_bytes()
    if any(mark not in data for mark in marks):
        return []
    objects: list[Object] = []
    # Chart templates are not YAML: only the documents before the first invalid one count.
    with contextlib.suppress(NotAnObject, RecursionError):
        objects.extend(obj.body for obj in objects_in(data))
    return objects


def concerns(app: FoundApp, path: str, checkout: Checkout) -> bool:
    """Does a path of the checkout contain the app's file or its manifests, or is it inside them?"""
    if path in ("", "."):
        return True
    if _within(app.file, path):
        return True
    for source in sources_of(app.body):
        folder = text(source.get("path")).strip("/").removeprefix("./")
        if folder and checkout.contains_source(source) and (_within(folder, path) or _within(path, folder)):
            return True
    return False


def may_be_touched(app: FoundApp, checkout: Checkout) -> bool:
    """Evaluate `manifest-generate-paths` as Argo CD's webhook does; without it any change counts.

    If none of the paths matches a file, the annotation only delays all changes until the cached manifests
    expire.
    """
    generate_paths = text(dig(app.body, "metadata", "annotations", GENERATE_PATHS))
    changed = checkout.changed_paths()
    if not generate_paths or app.file in changed:
        return True
    paths = list(_generate_paths(app, checkout))
    if any(_fits(path, pattern) for _, pattern in paths for path in changed):
        return True
    return bool(paths) and len(unmatched_paths(app, checkout)) == len(paths)


def unmatched_paths(app: FoundApp, checkout: Checkout) -> list[str]:
    """The paths of `manifest-generate-paths`, as written, that match no file."""
    files = checkout.head_files() if dig(app.body, "metadata", "annotations", GENERATE_PATHS) else ()
    return [
        written
        for written, pattern in _generate_paths(app, checkout)
        if not any(_fits(path, pattern) for path in files)
    ]


def _generate_paths(app: FoundApp, checkout: Checkout) -> Iterator[tuple[str, str]]:
    """The paths as written and from the root. Mirrors `GetSourceRefreshPaths`, Argo CD 3.6."""
    written = text(dig(app.body, "metadata", "annotations", GENERATE_PATHS))
    for source in sources_of(app.body):
        if not written or not checkout.contains_source(source):
            continue
        folder = text(source.get("path")).strip("/")
        for path in filter(None, (part.strip() for part in written.split(";"))):
            yield path, _joined("" if path.startswith("/") else folder, path)


def reads_changed_files(app: FoundApp, checkout: Checkout) -> bool:
    """Does the commit change a file of the app's sources? For an app that cannot be rendered here.

    A repository that only a placeholder names may be this one, and a path with one any folder that fits.
    The folders are those of its sources, of the bases that their kustomizations use and of the charts that
    their charts depend on; the files are the values files that the sources name, also with `$ref/`.
    """
    changed = checkout.changed_paths()
    root = checkout.head.tree.root
    files = Files(str(root))
    folders: set[str] = set()
    values: set[str] = set()
    for source in sources_of(app.body):
        folder = text(source.get("path")).strip("/").removeprefix("./")
        if folder and "chart" not in source and has_placeholder(f"{source.get('repoURL')}{folder}"):
            folders.add(fixed_folder(folder))
        elif folder and checkout.contains_source(source):
            folders |= {used for base in reached_folders(files, folder) for used in _with_charts(root, base)}
        values |= set(values_files(source))
    return not values.isdisjoint(changed) or any(
        _within(path, folder) for folder in folders for path in changed
    )


def values_files(source: Object) -> Iterator[str]:
    """Paths from the root of the values files that a source names, also in another source (`$ref/`)."""
    folder = text(source.get("path")).strip("/").removeprefix("./")
    for name in map(text, items(dig(source, "helm", "valueFiles"))):
        yield name.partition("/")[2] if name.startswith("$") else _joined(folder, name)


def _with_charts(root: Path, folder: str) -> set[str]:
    """A folder and, if it has a chart, the folders of the charts that it depends on, directly or not."""
    found: set[str] = set()
    waiting = [folder]
    while waiting:
        chart = waiting.pop()
        if chart in found:
            continue
        found.add(chart)
        with contextlib.suppress(RenderProblem):
            urls = [dependency.url for dependency in dependencies_of(root / chart, str)]
            waiting += [_joined(chart, url.removeprefix(_LOCAL)) for url in urls if url.startswith(_LOCAL)]
    return found


def _joined(folder: str, path: str) -> str:
    parts: list[str] = []
    for part in f"{folder}/{path}".split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _fits(path: str, pattern: str) -> bool:
    """Mirrors `AppFilesHaveChanged`, Argo CD 3.6."""
    return _within(path, pattern) or path_match(pattern, path)


def _within(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder.rstrip('/')}/")
