"""Checks that all files a kustomization refers to are in the repository.

Kustomize itself restricts files to the folder of each kustomization (not with `--load-restrictor
LoadRestrictionsNone`), but bases may be anywhere on the machine, including the user's own files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from whysync.argocd.repo_server.git.tree import Tree
from whysync.argocd.repo_server.render.detect import KUSTOMIZATIONS
from whysync.argocd.repo_server.render.problem import CACHED_SOURCE, RenderProblem
from whysync.json_tree import Json, fields, items
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken

_MAX_FILES: Final = 5000
_MAX_FILE_BYTES: Final = 1 << 20
# The fields of kustomizations, and of the generators and transformers that they name, that hold paths.
_PATHS: Final = frozenset(
    (
        "resources",
        "components",
        "bases",
        "files",
        "envs",
        "env",
        "path",
        "paths",
        "crds",
        "configurations",
        "generators",
        "transformers",
        "validators",
        "replacements",
        "patches",
        "patchesStrategicMerge",
        "patchesJson6902",
        "valuesFile",
        "additionalValuesFiles",
        "chartHome",
        "configHome",
    )
)
# Fields that refer to other Kustomize files, which are checked too.
_FOLLOWED: Final = frozenset(("resources", "components", "bases", "generators", "transformers", "validators"))


def check_reach(folder: Path, tree: Tree) -> None:
    """Raises `RenderProblem` for a path that leads out of the repository."""
    pending = [folder]
    visited: set[Path] = set()
    while pending and len(visited) < _MAX_FILES:
        path = pending.pop()
        if path in visited:
            continue
        visited.add(path)
        file = path
        if path.is_dir():
            kustomization = next((path / name for name in KUSTOMIZATIONS if (path / name).is_file()), None)
            if kustomization is None:
                continue
            file = kustomization
        for followed, reference in _paths_in(file):
            target = _path_in_repository(reference, file.parent, tree.root)
            if target is not None and followed and target.exists():
                pending.append(target)


def _paths_in(file: Path) -> Iterator[tuple[bool, str]]:
    if not file.is_file() or file.stat().st_size > _MAX_FILE_BYTES:
        return
    for document in yaml.documents(file.read_bytes()):
        if isinstance(document, Broken):
            return  # the build reports the error
        body = fields(document.body)
        if file.name in KUSTOMIZATIONS or body.get("apiVersion") == "builtin":
            yield from _referenced_paths(body, key="")


def _referenced_paths(value: Json, key: str) -> Iterator[tuple[bool, str]]:
    if isinstance(value, str):
        if key in _PATHS and "\n" not in value:
            name, equals, path = value.partition("=")  # `key=path` in the files of a generator
            yield key in _FOLLOWED, path if equals and key == "files" and "/" not in name else value
    elif isinstance(value, dict):
        for inner, item in value.items():
            yield from _referenced_paths(item, inner)
    else:
        for item in items(value):
            yield from _referenced_paths(item, key)


def _path_in_repository(reference: str, folder: Path, root: Path) -> Path | None:
    """The full path; `None` for a URL. Raises `RenderProblem` if it is outside of the repository."""
    if "\x00" in reference or ("://" in reference and ".." not in reference):
        return None
    full = Path(os.path.normpath(folder / reference))
    if full != root and root not in full.parents:
        shown = str(folder).replace(str(root), CACHED_SOURCE)
        raise RenderProblem(f"security; file '{reference}' is not in or below '{shown}'")
    return full
