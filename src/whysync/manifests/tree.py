"""`Tree`: the files and objects of a repository, with the lookups that rules need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.manifests.configuration import Configuration
from whysync.manifests.files import File, Item, Part
from whysync.manifests.kustomizations import Kustomization
from whysync.manifests.schemas.built_in import is_built_in, is_namespaced
from whysync.manifests.schemas.custom import Definitions
from whysync.manifests.schemas.validate import schema_violations
from whysync.manifests.schemas.violation import SchemaViolation
from whysync.manifests.similar_names import Names

_ARGOCD = "argoproj.io"
# without `demo`, which is also the name of an environment
_EXAMPLE_FOLDERS = frozenset(
    (
        "_archive",
        "_archived",
        "archive",
        "archived",
        "design-doc",
        "design-docs",
        "docs",
        "e2e",
        "example",
        "examples",
        "fixtures",
        "proposals",
        "sample",
        "samples",
        "tests",
    )
)
_ENVIRONMENTS = frozenset(
    (
        "acc",
        "acceptance",
        "dev",
        "development",
        "int",
        "live",
        "preprod",
        "prod",
        "production",
        "qa",
        "stage",
        "staging",
        "uat",
    )
)
_PARENTS_OF_ENVIRONMENTS = frozenset(
    ["apps", "clusters", "env", "environments", "envs", "overlays", "stages", "values"]
)
_SECRET_CREATORS = ("SealedSecret", "ExternalSecret", "Certificate", "VaultStaticSecret", "OnePasswordItem")
_SECRET_NAMES = (
    ("secretName",),
    ("target", "name"),
    ("template", "metadata", "name"),
    ("destination", "name"),
)


class AppSpec(NamedTuple):
    """The spec of an Application, or of the template of an ApplicationSet."""

    item: Item
    at: str
    spec: Object
    is_template: bool


class Unit(NamedTuple):
    """Objects that are synced together: those of an Application, a kustomization, or a folder."""

    name: str
    items: tuple[Item, ...]
    app: AppSpec | None
    is_open: bool


class Tree:
    """`source_tree`: another tree to search for objects, if this one is the output of one source."""

    def __init__(
        self,
        files: list[File],
        configuration: Configuration,
        definitions: Definitions,
        *,
        source_tree: Tree | None = None,
        terraform: frozenset[str] = frozenset(),
    ) -> None:
        self.source_tree = source_tree
        self._terraform = terraform
        self.files = files
        self.configuration = configuration
        self.definitions = definitions
        self.kustomizations: dict[str, Kustomization] = {}
        self.items: list[Item] = []
        self._by_kind: dict[str, list[Item]] = {}
        self._near: dict[str, Names] = {}

    @property
    def desired(self) -> Sequence[Item]:
        return self.items

    def add(self, item: Item) -> None:
        self.items.append(item)
        self._by_kind.setdefault(text(item.body.get("kind")), []).append(item)

    def of_kind(self, *kinds: str) -> Iterator[Item]:
        for kind in kinds:
            yield from self._by_kind.get(kind, ())

    # --- names -------------------------------------------------------------------------------------

    @cached_property
    def _items_by_name(self) -> dict[tuple[str, str], list[Item]]:
        items_by_name: dict[tuple[str, str], list[Item]] = {}
        for item in self.items:
            items_by_name.setdefault((item.ref.kind, item.ref.name), []).append(item)
        return items_by_name

    @cached_property
    def _generated(self) -> set[tuple[str, str]]:
        return {name for kustomization in self.kustomizations.values() for name in kustomization.generated}

    def named(self, kind: str, name: str, namespace: str) -> list[Item]:
        """Objects that a reference may mean: a namespace that one side does not set matches any."""
        matches = [
            item
            for item in self._items_by_name.get((kind, name), ())
            if not namespace or item.ref.namespace in ("", namespace)
        ]
        return matches or (self.source_tree.named(kind, name, namespace) if self.source_tree else [])

    def may_be_generated(self, kind: str, name: str) -> bool:
        return (kind, name) in self._generated or bool(
            self.source_tree and self.source_tree.may_be_generated(kind, name)
        )

    def similar_name(self, kind: str, name: str) -> str:
        """An object of that kind with a similar name."""
        if kind not in self._near:
            self._near[kind] = Names(self.names_of(kind))
        return self._near[kind].near(name)

    @cached_property
    def created_secrets(self) -> set[str]:
        """Secrets that custom resources in the files create, under their own or a configured name."""
        secrets: set[str] = set()
        for creator in self.of_kind(*_SECRET_CREATORS):
            secrets.add(creator.ref.name)
            secrets.update(text(dig(creator.spec, *path)) for path in _SECRET_NAMES)
        return secrets - {""}

    def names_of(self, kind: str) -> list[str]:
        generated = [name for generated_kind, name in self._generated if generated_kind == kind]
        return [item.ref.name for item in self._by_kind.get(kind, ())] + generated

    def lives_outside(self, kind: str, name: str, namespace: str) -> bool:
        return self.configuration.lives_outside(kind, name, namespace)

    def is_example(self, path: str) -> bool:
        """Does the folder name show that its files are not deployed, and no Application deploys them?

        Not if it contains all files.
        """
        tree = self.source_tree or self
        folders = path.split("/")[:-1]
        return any(
            name in _EXAMPLE_FOLDERS or (name == "test" and tree.is_test_folder(folders[:at]))
            for at, name in enumerate(folders)
            if at >= tree.depth
        ) and not tree.is_deployed(path)

    def is_test_folder(self, parent: list[str]) -> bool:
        """Does a folder named `test` here contain tests? Among others it may be an environment."""
        if parent and parent[-1] in _PARENTS_OF_ENVIRONMENTS:
            return False
        return _ENVIRONMENTS.isdisjoint(self._folder_names.get("/".join(parent), ()))

    def is_deployed(self, path: str) -> bool:
        """Is it below the path of an Application that is not an example itself?"""
        folder = f"/{path.rpartition('/')[0]}/"
        return any(f"/{app_path}/" in folder for app_path in self._app_paths)

    def is_left_over(self, path: str) -> bool:
        """Is it below a kustomization that does not use it, and no kustomization or Application does?"""
        tree = self.source_tree or self
        if path in tree.kustomized_paths:
            return False
        folder = path.rpartition("/")[0]
        while folder.count("/") >= tree.depth and folder:
            if folder in tree.kustomizations:
                return True
            if tree.is_path_of_application(folder):
                return False  # as a directory
            folder = folder.rpartition("/")[0]
        return False

    def is_path_of_application(self, folder: str) -> bool:
        return any(folder == path or folder.endswith(f"/{path}") for path in self._app_paths)

    def is_unreached(self, path: str) -> bool:
        """Do the Applications deploy folders next to it, but not this one, or is it of a Terraform module?

        Terraform completes such files before it applies them. Unknown if an ApplicationSet computes paths.
        Applications themselves are often created by hand.
        """
        tree = self.source_tree or self
        if tree.is_of_terraform(path):
            return True
        deployed = tree.deployed_folders
        if not deployed or path in tree.paths_of_argocd_objects:
            return False
        folders = path.split("/")[:-1]
        above = ["/".join(folders[:end]) for end in range(len(folders), tree.depth, -1)]
        if not deployed.isdisjoint(above):
            return False
        return any(f"{folder}/".startswith(f"{parent}/") for parent in above[1:] for folder in deployed)

    def is_of_terraform(self, path: str) -> bool:
        """Is it in the folder of a Terraform module, and no Application deploys it?"""
        folders = path.split("/")[:-1]
        above = {"/".join(folders[:end]) for end in range(len(folders), 0, -1)}
        return not above.isdisjoint(self._terraform) and not self.is_deployed(path)

    @cached_property
    def deployed_folders(self) -> set[str]:
        """The folders that Applications use, with their bases; empty if it is not known for all of them."""
        sources = [
            source
            for app in self.app_specs
            for source in (fields(app.spec.get("source")), *map(fields, items(app.spec.get("sources"))))
        ]
        paths = {text(source.get("path")).strip("/").removeprefix("./") for source in sources}
        if any("{{" in path for path in paths):
            return set()
        by_name: dict[str, list[str]] = {}
        for folder in {file.folder for file in self.files}:
            parts = folder.split("/")
            for end in range(1, len(parts) + 1):
                by_name.setdefault(parts[end - 1], []).append("/".join(parts[:end]))
        queue = [
            folder
            for path in paths - {"", "."}
            for folder in by_name.get(path.rpartition("/")[2], ())
            if folder == path or folder.endswith(f"/{path}")
        ]
        deployed: set[str] = set()
        while queue:
            folder = queue.pop()
            if folder in deployed:
                continue
            deployed.add(folder)
            kustomization = self.kustomizations.get(folder)
            for used in (*kustomization.resources, *kustomization.patches) if kustomization else ():
                queue.append(used if used in self.kustomizations else used.rpartition("/")[0])
        return deployed

    @cached_property
    def paths_of_argocd_objects(self) -> set[str]:
        return {item.file.path for item in self.items if item.ref.group == _ARGOCD}

    @cached_property
    def kustomized_paths(self) -> set[str]:
        """Files and folders that kustomizations use, also as patches."""
        used = {path for kustomization in self.kustomizations.values() for path in kustomization.resources}
        used |= {path for kustomization in self.kustomizations.values() for path in kustomization.patches}
        return used | {kustomization.path for kustomization in self.kustomizations.values()}

    @cached_property
    def _folder_names(self) -> dict[str, set[str]]:
        """The names of the folders in each folder."""
        names: dict[str, set[str]] = {}
        for folder in {file.folder for file in self.files}:
            parts = folder.split("/")
            for at, name in enumerate(parts):
                names.setdefault("/".join(parts[:at]), set()).add(name)
        return names

    @cached_property
    def _app_paths(self) -> set[str]:
        paths: set[str] = set()
        for app in self.app_specs:
            if not _EXAMPLE_FOLDERS.isdisjoint(app.item.file.path.split("/")[self.depth : -1]):
                continue
            for source in (fields(app.spec.get("source")), *map(fields, items(app.spec.get("sources")))):
                paths.add(text(source.get("path")).strip("/").removeprefix("./"))
        return {path for path in paths if path not in ("", ".") and "{{" not in path}

    @cached_property
    def depth(self) -> int:
        """The number of folders that all files have in common."""
        folders = sorted(file.folder.split("/") for file in self.files)
        if not folders:
            return 0
        pairs = zip(folders[0], folders[-1], strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    # --- kinds -------------------------------------------------------------------------------------

    def is_custom(self, ref: Ref) -> bool:
        return not is_built_in(ref.api_version, ref.kind)

    def is_namespaced(self, ref: Ref) -> bool | None:
        """`None` if it is not known: a custom kind without a CRD in the files."""
        if self.is_custom(ref):
            return self.definitions.is_namespaced(ref.group, ref.kind)
        return is_namespaced(ref.api_version, ref.kind)

    @cached_property
    def violations(self) -> list[tuple[Item, SchemaViolation]]:
        """Schema violations of all objects, computed once for several checks."""
        return list(schema_violations(self.items, self.definitions, self.configuration.release))

    # --- Argo CD -----------------------------------------------------------------------------------

    @cached_property
    def app_specs(self) -> list[AppSpec]:
        specs = [
            AppSpec(item, "/spec", item.spec, is_template=False)
            for item in self.of_kind("Application")
            if item.ref.group == _ARGOCD
        ]
        for item in self.of_kind("ApplicationSet"):
            if item.ref.group == _ARGOCD:
                spec = fields(dig(item.spec, "template", "spec"))
                specs.append(AppSpec(item, "/spec/template/spec", spec, is_template=True))
        return specs

    @cached_property
    def units(self) -> list[Unit]:
        """Applications with the objects of their folders, then kustomizations and folders without one."""
        if self.source_tree is not None:
            return [Unit("rendered", tuple(self.items), None, is_open=False)]
        by_folder: dict[str, list[Item]] = {}
        by_file: dict[str, list[Item]] = {}
        for item in self.items:
            if item.file.part is Part.MANIFESTS:
                by_file.setdefault(item.file.path, []).append(item)
                by_folder.setdefault(item.file.folder, []).append(item)
        units: list[Unit] = []
        used: set[str] = set()
        folders_by_name: dict[str, list[str]] = {}
        for folder in sorted(by_folder.keys() | self.kustomizations.keys()):
            folders_by_name.setdefault(folder.rpartition("/")[2], []).append(folder)
        for app in self.app_specs:
            for folder, recurse in _folders(app, folders_by_name):
                members, is_open = self._members(folder, by_folder, by_file, recurse=recurse)
                used.add(folder)
                if members:
                    units.append(Unit(app.item.ref.name, tuple(members), app, is_open))
        for folder in [*self.kustomizations, *by_folder]:
            if folder not in used:
                used.add(folder)
                members, is_open = self._members(folder, by_folder, by_file, recurse=False)
                if members:
                    units.append(Unit(folder or ".", tuple(members), None, is_open))
        return units

    def _members(
        self, folder: str, by_folder: dict[str, list[Item]], by_file: dict[str, list[Item]], *, recurse: bool
    ) -> tuple[list[Item], bool]:
        if folder in self.kustomizations:
            return self._of_kustomization(folder, by_file, set())
        names = [folder]
        if recurse:
            prefix = f"{folder}/" if folder else ""
            names += [other for other in by_folder if other != folder and other.startswith(prefix)]
        return [item for name in names for item in by_folder.get(name, ())], False

    def _of_kustomization(
        self, folder: str, by_file: dict[str, list[Item]], visited: set[str]
    ) -> tuple[list[Item], bool]:
        """With all its bases; a cycle is visited once."""
        if folder in visited or len(visited) > 500:
            return [], False
        visited.add(folder)
        kustomization = self.kustomizations[folder]
        items: list[Item] = []
        is_open = kustomization.is_open
        for path in kustomization.resources:
            if path in self.kustomizations:
                below, more = self._of_kustomization(path, by_file, visited)
                items += below
                is_open = is_open or more
            else:
                items += by_file.get(path, ())
        return items, is_open


def _folders(app: AppSpec, folders_by_name: Mapping[str, list[str]]) -> Iterator[tuple[str, bool]]:
    """Folders of the tree that a source's path matches, and whether subfolders count.

    `folders_by_name` has all folders by the last part of their path.
    """
    sources = [fields(app.spec.get("source")), *map(fields, items(app.spec.get("sources")))]
    for source in sources:
        path = text(source.get("path")).strip("/").removeprefix("./")
        if not path or path == "." or "{{" in path or source.get("chart"):
            continue
        recurse = dig(source, "directory", "recurse") is True
        candidates = folders_by_name.get(path.rpartition("/")[2], ())
        matching = [folder for folder in candidates if folder == path or folder.endswith(f"/{path}")]
        if len(matching) == 1:
            yield matching[0], recurse
