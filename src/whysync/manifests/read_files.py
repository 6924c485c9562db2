"""Find and read files: which are skipped, and the role of each file for Argo CD."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from whysync.deadline import stage
from whysync.errors import NotFound, TooLarge
from whysync.files import read_file
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.api.yaml import Broken, Document, Invalid, documents
from whysync.kubernetes.api.yaml.load import decoded
from whysync.manifests.configuration import Configuration
from whysync.manifests.encrypted import encryption_of, has_vault_values, is_encrypted, is_sops, without_sops
from whysync.manifests.files import File, Item, Note, Part, unfolded
from whysync.manifests.kustomizations import NAMES, Kustomization
from whysync.manifests.schemas.custom import Definitions
from whysync.manifests.tree import Tree
from whysync.queries.removed_apis import removal_of

_ENDINGS: Final = (".yaml", ".yml", ".json")
_LEFT_ALONE: Final = frozenset({"node_modules", "testdata", "__pycache__"})
"""Vendored files, and files that are invalid on purpose."""
LARGEST: Final = 64 << 20
_HEAD: Final = 1 << 16
MOST_FILES: Final = 200_000
_OBJECT: Final = re.compile(r"""(?:^(?:- )?|[{,])\s*["']?(?:apiVersion|kind)["']?\s*:""", re.MULTILINE)
_TEMPLATE: Final = ("{{", "{%", "<%", "((", "#@")
_PLACEHOLDER: Final = re.compile(r"(?<!\$)\{[A-Z][A-Z0-9_]{2,}\}")
_NEARBY: Final = re.compile(
    r"<[A-Z][A-Z0-9_-]{1,}>|##\w[\w.-]*##|@@\w[\w.-]*@@|%%\w[\w.-]*%%|__[A-Z][A-Z0-9_]*__|\$\{\w[^}\n]*\}"
)
"""Placeholders that also occur in valid files: they explain an error only on a line next to it."""
_LINES_BEFORE: Final = 3
_HASHES: Final = re.compile(r":[ \t]+[\"']?##\w[\w.-]*##[ \t]*$", re.MULTILINE)
"""A placeholder that YAML takes for a comment."""
_LOCAL: Final = ("config.kubernetes.io/local-config", "config.kubernetes.io/function")
"""Objects that tools read and that are not applied."""
_DEFINITION: Final = "CustomResourceDefinition"


class Reader:
    """Paths are shown as given, or relative to what was given, with `/`."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.charts: set[str] = set()
        self.terraform: set[str] = set()
        """Folders of Terraform modules."""
        self._notes: list[Note] = []
        self._templates: dict[str, list[str]] = {}
        self._encrypted: dict[str, str] = {}
        self._seen: set[str] = set()

    @property
    def notes(self) -> list[Note]:
        """What was not read: templates by folder, and all encrypted files in one note."""
        notes = list(self._notes)
        for folder, names in self._templates.items():
            if len(names) == 1:
                notes.append(Note(path=_joined(folder, names[0]), why="a template, not YAML: not read"))
            else:
                notes.append(Note(path=folder or ".", why=f"{len(names)} templates, not YAML: not read"))
        if self._encrypted:
            count = len(self._encrypted)
            programs = ", ".join(sorted(set(self._encrypted.values())))
            files = f"{count} file{'s' if count > 1 else ''}"
            why = f"{files} encrypted with {programs}: only what is readable is checked"
            notes.append(Note(path="", why=why))
        return notes

    def files(self, paths: Iterable[str], tell: Callable[[str, int], None] | None = None) -> list[File]:
        """`tell` gets what is done, in words."""
        files: list[File] = []
        for path in paths:
            start = Path(path)
            if start.is_dir():
                found = list(self._walk(path))
                done = stage("reading files", len(found), tell)
                for number, (full, name) in enumerate(found, start=1):
                    files.append(self._file(full, name, is_named=False))
                    done(number)
            elif start.exists():
                files.append(self._file(start, _shown(path), is_named=True))
            else:
                raise NotFound(
                    what=f"there is no file or folder {path!r}",
                    next="name files or folders with manifests, or none for the current folder",
                )
        return files

    def _walk(self, path: str) -> Iterator[tuple[Path, str]]:
        base = Path(path)
        for folder, folders, names in os.walk(base, followlinks=False):
            below = Path(folder).relative_to(base).as_posix()
            folder_name = _shown(path) if below == "." else _joined(_shown(path), below)
            if folder_name and any(name.endswith(".tf") for name in names):
                self.terraform.add(folder_name)
            if "Chart.yaml" in names:
                self._chart(folder_name, folders)
            folders[:] = sorted(
                name
                for name in folders
                if not name.startswith(".")
                and name not in _LEFT_ALONE
                and not self.configuration.excludes(_joined(folder_name, name))
            )
            for name in sorted(names):
                if not name.endswith(_ENDINGS) and name not in NAMES:
                    continue
                full, file_name = Path(folder, name), _joined(folder_name, name)
                if full.is_symlink() or name.startswith(".") or self.configuration.excludes(file_name):
                    continue  # links may lead outside
                if not full.is_file():
                    self._notes.append(Note(path=file_name, why="not a regular file: not read"))
                    continue
                if len(self._seen) >= MOST_FILES:
                    raise TooLarge(
                        what=f"there are more than {MOST_FILES} files below {path!r}",
                        next="lint it part by part, or leave folders out with exclude in .whysync.yaml",
                    )
                if file_name not in self._seen:
                    self._seen.add(file_name)
                    yield full, file_name

    def _chart(self, folder_name: str, folders: list[str]) -> None:
        """Templates are not YAML, and charts in `charts/` are vendored."""
        self.charts.add(folder_name)
        folders[:] = [name for name in folders if name not in ("templates", "charts", "tests", "ci")]

    def _file(self, full: Path, name: str, *, is_named: bool) -> File:
        try:
            if full.stat().st_size > LARGEST:
                why = f"larger than {LARGEST >> 20} MiB"
                self._notes.append(Note(path=name, why=why, matters=True))
                return File(name, "", [], [])
            data = read_file(full, most=LARGEST)
        except OSError as problem:
            self._notes.append(Note(path=name, why=f"cannot be read: {problem.strerror}", matters=True))
            return File(name, "", [], [])
        return self.read(name, data, is_named=is_named)

    def read(self, name: str, data: bytes, *, is_named: bool = False) -> File:
        if program := encryption_of(data):
            self._encrypted[name] = program
            return File(name, "", [], [])
        try:
            content = decoded(data)
        except Invalid as problem:
            why = Broken(problem=problem.problem, line=problem.line)
            file = File(name, "", [], [why] if is_named else [])
            file.unread = why if name.endswith(".json") and not is_named else None
            return file
        if name.endswith(".json") and not is_named and "\0" in content[:_HEAD]:
            file = File(name, "", [], [])
            file.unread = Broken(problem="control characters are not allowed: it is no text", line=1)
            return file
        manifests: list[Document] = []
        broken = list[Broken]()
        if not is_named and not _OBJECT.search(content) and name.rpartition("/")[2] not in NAMES:
            return File(name, content, [], [])  # not a manifest
        for document in documents(content):
            if isinstance(document, Broken):
                broken.append(document)
            elif is_sops(document.body):
                self._encrypted[name] = "SOPS"
                manifests.append(msgspec.structs.replace(document, body=without_sops(fields(document.body))))
            else:
                manifests.append(document)
        if has_vault_values(content):
            self._encrypted[name] = "Ansible Vault"
        if _HASHES.search(content) or (broken and _is_template(content, broken)):
            folder, _, base_name = name.rpartition("/")
            self._templates.setdefault(folder, []).append(base_name)
            manifests = [] if _HASHES.search(content) else manifests
            broken = []
        return File(name, content, manifests, broken)


def _is_template(content: str, broken: Iterable[Broken]) -> bool:
    """Is it no YAML because of placeholders or instructions that another program replaces?"""
    if any(mark in content for mark in _TEMPLATE) or _PLACEHOLDER.search(content):
        return True
    lines = content.split("\n")
    return all(
        any(map(_NEARBY.search, lines[max(0, error.line - 1 - _LINES_BEFORE) : error.line + 1]))
        for error in broken
    )


def _shown(argument: str) -> str:
    path = Path(argument).as_posix()
    return "" if path == "." else path


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def tree_of(
    files: list[File],
    configuration: Configuration,
    *,
    charts: Iterable[str] = (),
    terraform: Iterable[str] = (),
    definitions: Iterable[Object] = (),
) -> Tree:
    """The role of each file, and the objects of those with complete ones."""
    schemas = Definitions()
    tree = Tree(files, configuration, schemas, terraform=frozenset(terraform))
    for file in files:
        if file.name in NAMES and file.documents:
            body = fields(file.documents[0].body)
            file.part = Part.KUSTOMIZATION
            tree.kustomizations[file.folder] = Kustomization(file.folder, body, file.path)
    patches = {path for kustomization in tree.kustomizations.values() for path in kustomization.patches}
    paths = {path for kustomization in tree.kustomizations.values() for path in kustomization.resources}
    targeted = {path for kustomization in tree.kustomizations.values() for path in kustomization.targeted}
    values = {_joined(folder, name) for folder in charts for name in ("Chart.yaml", "values.yaml")}
    crds: list[Item] = []
    for file in files:
        if file.part is Part.KUSTOMIZATION or file.path in values:
            continue
        objects = [
            Item(body, file, number, inside)
            for number, document in enumerate(file.documents)
            for inside, body in unfolded(document.body)
            if not _is_local(body) and not _is_unreadable(body)
        ]
        if not objects:
            continue
        file.part = _part(file, patches, paths, tree)
        if file.part is Part.PATCH and file.path in targeted:
            continue  # Kustomize ignores its kind and name
        crds += [obj for obj in objects if obj.body.get("kind") == _DEFINITION]
        for item in objects:
            item.kustomized = file.path in paths
            tree.add(item)
    schemas.add(definitions)
    for crd in crds:  # an example may have an old copy, which applies to that example only
        folder = crd.file.folder
        is_unused = bool(tree.app_specs) and not tree.is_deployed(crd.file.path)
        home = folder if is_unused and folder not in tree.deployed_folders else ""
        if not tree.app_specs:  # nothing shows which of the trees of the repository it belongs to
            home = folder.rpartition("/")[0]
        schemas.add([crd.body], folder if tree.is_example(crd.file.path) else "", home=home)
    for file in files:
        if file.unread is not None and _is_deployed(file, tree, charts):
            file.broken.append(file.unread)
    return tree


def _is_local(body: Object) -> bool:
    annotations = fields(fields(body.get("metadata")).get("annotations"))
    return any(mark in annotations for mark in _LOCAL)


def _is_unreadable(body: Object) -> bool:
    """Are even its kind or name encrypted?"""
    name = fields(body.get("metadata")).get("name")
    return any(is_encrypted(value or "") for value in (body.get("apiVersion"), body.get("kind"), name))


def _is_deployed(file: File, tree: Tree, charts: Iterable[str]) -> bool:
    """Does an Application apply every file of this folder as it is?

    In that case Argo CD fails on invalid JSON, but skips YAML that does not look like a manifest.
    """
    if file.folder in tree.kustomizations or file.folder in charts:
        return False
    for app in tree.app_specs:
        for source in (fields(app.spec.get("source")), *map(fields, items(app.spec.get("sources")))):
            path = text(source.get("path")).strip("/").removeprefix("./")
            if (
                path
                and (file.folder == path or file.folder.endswith(f"/{path}"))
                and not source.get("plugin")
            ):
                return True
    return False


def _part(file: File, patches: set[str], resources: set[str], tree: Tree) -> Part:
    if file.path in resources:
        return Part.MANIFESTS
    if file.path in patches or file.folder.rpartition("/")[2] in ("patches", "patch"):
        return Part.PATCH
    return Part.LOOSE if file.folder in tree.kustomizations else Part.MANIFESTS


def kinds_without_schema(tree: Tree) -> dict[str, int]:
    """Custom kinds without a schema, and the number of objects of each."""
    kinds: dict[str, int] = {}
    for item in tree.items:
        ref = item.ref
        if not tree.is_custom(ref) or removal_of(ref.api_version, ref.kind) is not None:
            continue
        if not tree.definitions.of(ref.group, ref.version, ref.kind, item.file.path):
            name = f"{text(item.body.get('apiVersion'))} {ref.kind}"
            kinds[name] = kinds.get(name, 0) + 1
    return kinds
