"""Find the line of the checkout that declares a field of a rendered object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from whysync.argocd.repo_server.render.options import Origin
from whysync.diagnosis.file_location import FileLocation
from whysync.files import read_file
from whysync.fixes.lines import Lines, Position
from whysync.fixes.rendered_lines import KustomizedLines, in_template
from whysync.json_tree import Object, dig, text
from whysync.kubernetes.api.manifest_places import ManifestPlace, places_in
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.api.yaml import Broken, documents
from whysync.manifests.configuration import Configuration
from whysync.manifests.files import File, Item
from whysync.manifests.read_files import Reader, tree_of
from whysync.manifests.tree import Tree
from whysync.plan.changes import key_of
from whysync.plan.checkout import sources_of
from whysync.plan.plan import AppPlan

_MOST_FOLDERS: Final = 50
_TOOL_FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml")


class SourceLines:
    """Paths are relative to the root of the checkout."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._texts: dict[str, str] = {}
        self._trees: dict[str, Tree] = {}

    def of_object(
        self,
        ref: Ref,
        pointer: str,
        objects: Iterable[Object],
        origins: Mapping[Key, Origin],
        application: Object,
    ) -> FileLocation | None:
        """Where a field is written: in a manifest, a template, a base or a patch; `None` if it is unknown."""
        namespace = text(dig(application, "spec", "destination", "namespace"))
        body = next((obj for obj in objects if _is_same(key_of(obj, namespace), ref)), None)
        origin = origins.get(key_of(body, namespace)) if body is not None else None
        if body is None or origin is None or not (self._root / origin.path).exists():
            return None
        match origin.made_by:
            case "template" | "crds":
                position = in_template(self._text(origin.path), body, pointer)
                return FileLocation(path=origin.path, line=position.line, column=position.column)
            case "overlay" | "generator":
                return self._in_kustomization(body, pointer, origin, application)
            case "":
                return self._in_manifest(body, pointer, origin.path)
            case _:
                return FileLocation(path=origin.path, line=1)

    def of_application(self, app: AppPlan, pointer: str = "") -> FileLocation | None:
        """Where the Application declares a field, or the ApplicationSet that generates it."""
        if not app.file:
            return None
        if app.application_set:
            place = self._place(app.file, "ApplicationSet", app.application_set)
            pointer = f"/spec/template{pointer}" if pointer else ""
        else:
            place = self._place(app.file, "Application", app.name.partition("/")[2])
        if place is None:
            return FileLocation(path=app.file, line=1)
        if not pointer:
            return FileLocation(path=app.file, line=place.line)
        position = self._lines(app.file).position(place.document, join(place.inside) + pointer)
        return FileLocation(path=app.file, line=position.line, column=position.column)

    def of_source(self, application: Object) -> FileLocation | None:
        """The kustomization or chart that the source of an Application names."""
        for source in sources_of(application):
            folder = text(source.get("path")).strip("/").removeprefix("./")
            for name in _TOOL_FILES:
                path = f"{folder}/{name}".removeprefix("/")
                if folder and ".." not in folder.split("/") and (self._root / path).is_file():
                    return FileLocation(path=path, line=1)
        return None

    def _in_manifest(self, body: Object, pointer: str, path: str) -> FileLocation | None:
        place = self._place(path, text(body.get("kind")), text(dig(body, "metadata", "name")))
        if place is None:
            return FileLocation(path=path, line=1)
        position = self._lines(path).position(place.document, join(place.inside) + (pointer or "/kind"))
        return FileLocation(path=path, line=position.line, column=position.column)

    def _place(self, path: str, kind: str, name: str) -> ManifestPlace | None:
        places = [place for place in places_in(path, self._text(path)) if place.ref.kind == kind]
        return next((place for place in places if place.ref.name == name), None)

    def _lines(self, path: str) -> Lines:
        content = self._text(path)
        read = [document for document in documents(content) if not isinstance(document, Broken)]
        return Lines(File(path, content, [document for document in read if document.body is not None], []))

    def _in_kustomization(
        self, body: Object, pointer: str, origin: Origin, application: Object
    ) -> FileLocation:
        folders = [
            folder
            for source in sources_of(application)
            if (folder := text(source.get("path")).strip("/").removeprefix("./"))
        ]
        tree = self._tree(folders)
        own = [str(self._root / folder) for folder in folders]
        kustomizations = sorted(
            tree.kustomizations.values(), key=lambda one: (one.folder not in own, one.path)
        )
        items: dict[str, list[Item]] = {}
        for item in tree.items:
            items.setdefault(item.file.path, []).append(item)
        path, position = KustomizedLines({file.path: file for file in tree.files}, items).position(
            body,
            pointer or "/kind",
            str(self._root / origin.path),
            [patch for one in kustomizations for patch in sorted(one.patches)],
            [one.path for one in kustomizations],
        )
        return self._relative(path, position)

    def _relative(self, path: str, position: Position) -> FileLocation:
        relative = Path(path).relative_to(self._root).as_posix() if Path(path).is_absolute() else path
        return FileLocation(path=relative, line=position.line, column=position.column)

    def _tree(self, folders: Sequence[str]) -> Tree:
        """The files of these kustomizations and of their bases."""
        key = "\n".join(folders)
        if key not in self._trees:
            paths = [str(self._root / folder) for folder in folders]
            tree = _read(paths)
            while len(paths) < _MOST_FOLDERS:
                used = {path for one in tree.kustomizations.values() for path in one.resources}
                missing = [path for path in sorted(used) if self._is_unread(path, paths)]
                if not missing:
                    break
                paths += missing
                tree = _read(paths)
            self._trees[key] = tree
        return self._trees[key]

    def _is_unread(self, path: str, read: Iterable[str]) -> bool:
        inside = path.startswith(f"{self._root}/") and Path(path).exists()
        return inside and not any(f"{path}/".startswith(f"{folder}/") for folder in read)

    def _text(self, path: str) -> str:
        if path not in self._texts:
            try:
                self._texts[path] = read_file(self._root / path).decode("utf-8", "replace")
            except OSError:
                self._texts[path] = ""
        return self._texts[path]


def _read(paths: Iterable[str]) -> Tree:
    configuration = Configuration()
    return tree_of(Reader(configuration).files(list(paths)), configuration)


def _is_same(key: Key, ref: Ref) -> bool:
    """A finding may leave out the namespace of an object, or that of a cluster-scoped kind."""
    return (key.group, key.kind, key.name) == (ref.group, ref.kind, ref.name) and (
        not ref.namespace or not key.namespace or key.namespace == ref.namespace
    )
