"""Which paths a source may name. What leads out of the repository is refused in the repo-server's words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from whysync.argocd.repo_server.git.tree import Tree, walk
from whysync.argocd.repo_server.render.problem import RenderProblem

_DEEPEST_LINK: Final = 10
_HIDDEN: Final = "internal error: failed to resolve path. Check logs for more details"


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


def check_links(tree: Tree, *, what: str = "repository") -> None:
    """No link of the tree may be absolute or lead out of it, even in between. Looked for once a tree.

    Mirrors `CheckOutOfBoundsSymlinks`, Argo CD 3.6.
    """
    if tree.checked is None:
        tree.checked = _outward_link(tree.root)
    if tree.checked:
        raise RenderProblem(f"{what} contains out-of-bounds symlinks. file: {tree.checked}")


def _outward_link(root: Path) -> str:
    for path in walk(root):
        if path.is_symlink() and _leads_out(str(path.parent), os.readlink(path), str(root)):
            return str(path.relative_to(root))
    return ""


def _leads_out(here: str, target: str, root: str) -> bool:
    if target.startswith("/"):
        return True
    for part in target.split("/"):
        here = os.path.normpath(os.path.join(here, part))
        if here != root and not here.startswith(f"{root}/"):
            return True
    return False


def resolved_file(folder: Path, root: Path, file: str, schemes: Sequence[str] = ()) -> tuple[str, bool]:
    """The full path of a values file, or its URL where that is allowed; and whether it is one.

    Relative to the app's folder, or with a `/` in front to the repository. Mirrors
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
        raise RenderProblem(_HIDDEN)
    joined = os.path.normpath(f"{root}/{path}" if path.startswith("/") else folder / path)
    for _ in range(_DEEPEST_LINK + 1):
        if not os.path.islink(joined):
            break
        joined = os.path.normpath(os.path.join(os.path.dirname(joined), os.readlink(joined)))
    else:
        raise RenderProblem(_HIDDEN)
    if joined == str(root):
        if may_be_root:
            return joined
        raise RenderProblem(_HIDDEN)
    if not joined.startswith(f"{root}/"):
        raise RenderProblem(f"file '{path}' resolved to outside repository root")
    # Upstream has looked at every link of the repository before; a folder on the way that is one is safe too.
    return joined


def _scheme(file: str) -> str:
    try:
        return urlsplit(file).scheme
    except ValueError:
        return ""
