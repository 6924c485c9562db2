"""Paths in a source: those outside of the repository are refused with the repo-server's messages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from whysync.argocd.repo_server.git.tree import Tree, walk
from whysync.argocd.repo_server.render.options import RenderProblem

_MAX_LINK_DEPTH: Final = 10
_INTERNAL_ERROR: Final = "internal error: failed to resolve path. Check logs for more details"


def app_folder(tree: Tree, path: str) -> Path:
    """Mirrors `Path` of util/app/path, Argo CD 3.6."""
    if path.startswith("/"):
        raise RenderProblem(f"{path}: app path is absolute")
    if "\x00" in path:
        raise RenderProblem(f"{path!r}: app path does not exist")
    joined = os.path.normpath(tree.root / path)
    if joined != str(tree.root) and not joined.startswith(f"{tree.root}/"):
        raise RenderProblem(f"{path}: app path outside root")
    folder = Path(joined)
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise RenderProblem(f"{path}: app path does not exist") from None
    except OSError as problem:
        raise RenderProblem(f"stat {path}: {(problem.strerror or str(problem)).lower()}") from None
    if not folder.is_dir():
        raise RenderProblem(f"{path}: app path is not a directory")
    return folder


def check_links(tree: Tree, *, tree_kind: str = "repository") -> None:
    """Refuses trees with links that are absolute or lead out of the tree; checked once per tree.

    Mirrors `CheckOutOfBoundsSymlinks`, Argo CD 3.6.
    """
    if tree.checked is None:
        tree.checked = _outward_link(tree.root)
    if tree.checked:
        raise RenderProblem(f"{tree_kind} contains out-of-bounds symlinks. file: {tree.checked}")


def _outward_link(root: Path) -> str:
    for path in walk(root):
        if path.is_symlink() and _leads_out(str(path.parent), os.readlink(path), str(root)):
            return str(path.relative_to(root))
    return ""


def _leads_out(path: str, target: str, root: str) -> bool:
    if target.startswith("/"):
        return True
    for component in target.split("/"):
        path = os.path.normpath(os.path.join(path, component))
        if path != root and not path.startswith(f"{root}/"):
            return True
    return False


def resolved_file(folder: Path, root: Path, file: str, schemes: Sequence[str] = ()) -> tuple[str, bool]:
    """The full path of a values file or its URL, and whether it is a URL.

    Paths are relative to the app's folder, or with a leading `/` to the repository. Mirrors
    `ResolveValueFilePathOrUrl`, Argo CD 3.6.
    """
    scheme = _scheme(file)
    if scheme:
        if scheme.lower() in (scheme.lower() for scheme in schemes):
            return file, True
        raise RenderProblem(f"the URL scheme '{scheme}' is not allowed")
    return resolved_path(folder, root, file), False


def resolved_path(folder: Path, root: Path, path: str, *, may_be_root: bool = False) -> str:
    if "\x00" in path:
        raise RenderProblem(_INTERNAL_ERROR)
    joined = os.path.normpath(f"{root}/{path}" if path.startswith("/") else folder / path)
    for _ in range(_MAX_LINK_DEPTH + 1):
        if not os.path.islink(joined):
            break
        joined = os.path.normpath(os.path.join(os.path.dirname(joined), os.readlink(joined)))
    else:
        raise RenderProblem(_INTERNAL_ERROR)
    if joined == str(root):
        if may_be_root:
            return joined
        raise RenderProblem(_INTERNAL_ERROR)
    if not joined.startswith(f"{root}/"):
        raise RenderProblem(f"file '{path}' resolved to outside repository root")
    # Links of parent folders were checked before, with all links of the repository.
    return joined


def _scheme(file: str) -> str:
    try:
        return urlsplit(file).scheme
    except ValueError:
        return ""
