"""What a kustomization reads, followed from file to file: it must all lie in the repository.

Kustomize itself only keeps files below each kustomization (not even that with `--load-restrictor
LoadRestrictionsNone`), and bases may be anywhere on the machine. On a repo-server there is little to find,
but here it would be the user's own files.
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

_MOST_FILES: Final = 5000
_LARGEST_FILE: Final = 1 << 20
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
# What other kustomize files hang on: these are opened and looked through, too.
_FOLLOWED: Final = frozenset(("resources", "components", "bases", "generators", "transformers", "validators"))


def check_reach(folder: Path, tree: Tree) -> None:
    """Raises `RenderProblem` for a path that leads out of the repository."""
    waiting = [folder]
    seen: set[Path] = set()
    while waiting and len(seen) < _MOST_FILES:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        file = here
        if here.is_dir():
            named = next((here / name for name in KUSTOMIZATIONS if (here / name).is_file()), None)
            if named is None:
                continue
            file = named
        for followed, written in _paths_in(file):
            target = _inside(written, file.parent, tree.root)
            if target is not None and followed and target.exists():
                waiting.append(target)


def _paths_in(file: Path) -> Iterator[tuple[bool, str]]:
    if not file.is_file() or file.stat().st_size > _LARGEST_FILE:
        return
    for document in yaml.documents(file.read_bytes()):
        if isinstance(document, Broken):
            return  # the build will say so
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


def _inside(written: str, folder: Path, root: Path) -> Path | None:
    """The full path; nothing for a URL. Raises where it leaves the repository."""
    if "\x00" in written or ("://" in written and ".." not in written):
        return None
    full = Path(os.path.normpath(folder / written))
    if full != root and root not in full.parents:
        shown = str(folder).replace(str(root), CACHED_SOURCE)
        raise RenderProblem(f"security; file '{written}' is not in or below '{shown}'")
    return full
