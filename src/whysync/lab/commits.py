"""Parse the Git repositories of a scenario: commits, and files inline or from a folder next to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from whysync.errors import TooLarge
from whysync.kubernetes.api import yaml
from whysync.lab.scenario import DEFAULT_REPO, Commit, Rendering, Repo
from whysync.lab.yaml_nodes import Node

COMMIT_KEYS: Final = ("message", "id", "files", "folder", "broken", "removes", "renders")
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]{4,40}")
_MOST_FILES: Final = 2_000
_MOST_BYTES: Final = 16 << 20
_READ: Final = (".yaml", ".yml", ".json", ".tpl", ".txt")


def repos_of(node: Node, folder: Path | None) -> tuple[Repo, ...]:
    return tuple(_repo(entry, folder) for entry in node.each())


def _repo(node: Node, folder: Path | None) -> Repo:
    """A repository; without `commits`, its own files are the only commit."""
    node.mapping("url", "branch", "commits", *COMMIT_KEYS)
    commits = node.at("commits")
    if commits.value is None:
        first = (commit_of(node, folder),)
    else:
        for key in COMMIT_KEYS:
            if node.has(key):
                node.at(key).fail(f"{node.name} has both commits and {key}", next="move it into a commit")
        first = tuple(_commit(entry, folder) for entry in commits.each())
    return Repo(url=node.at("url").text(DEFAULT_REPO), branch=node.at("branch").text("main"), commits=first)


def _commit(node: Node, folder: Path | None) -> Commit:
    node.mapping(*COMMIT_KEYS)
    return commit_of(node, folder)


def commit_of(node: Node, folder: Path | None) -> Commit:
    """The commit in a mapping that may have other fields too."""
    id = node.at("id").text("")
    if id and not _HEXADECIMAL.fullmatch(id):
        node.at("id").fail(f"{id!r} is not a commit id", why="it has 4 to 40 hexadecimal digits")
    files: dict[str, str] = {}
    if node.has("folder"):
        files |= _from_folder(node.at("folder"), folder)
    broken = node.at("broken").texts()
    for path, entry in node.at("files").entries():
        files[_path(entry, path)] = entry.text()
        if path not in broken:
            _check(entry, path)
    return Commit(
        message=node.at("message").text("").strip(),
        id=id,
        files=files,
        removes=node.at("removes").texts(),
        renders={path.strip("/"): _rendering(entry) for path, entry in node.at("renders").entries()},
    )


def _path(node: Node, path: str) -> str:
    if path.startswith("/") or ".." in path.split("/") or not path.strip():
        node.fail(f"{path!r} is not a path in a repository", next="write it from the root of the repository")
    return path


def _check(node: Node, path: str) -> None:
    """Files must be valid YAML unless the scenario marks them: `broken`, or `renders: error:`."""
    if not path.endswith((".yaml", ".yml", ".json")) or "/templates/" in path:
        return
    for document in yaml.documents(node.text()):
        if isinstance(document, yaml.Broken):
            node.fail(
                f"file {path} is not YAML: {document}",
                why="the line is counted from the beginning of the file",
                next="fix it; to play a repository that cannot be rendered, name the file under broken:,"
                " or use renders: error:",
            )


def _rendering(node: Node) -> Rendering:
    if isinstance(node.value, dict):
        node.mapping("error", "manifests", "random")
        if node.has("manifests"):
            _check(node.at("manifests"), "rendered.yaml")
        return Rendering(
            error=node.at("error").text(""),
            manifests=node.at("manifests").text(""),
            random=node.at("random").flag(),
        )
    _check(node, "rendered.yaml")
    return Rendering(manifests=node.text())


def _from_folder(node: Node, folder: Path | None) -> dict[str, str]:
    """All files below a folder by relative path; links are not followed."""
    folder_name = node.text()
    if folder is None:
        node.fail("a built-in scenario has no folder next to it")
    root = folder / folder_name
    if not root.is_dir():
        node.fail(
            f"there is no folder {folder_name}", why=f"it is looked for in {folder}", next="check the path"
        )
    files: dict[str, str] = {}
    total = 0
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.suffix not in _READ:
            continue
        total += path.stat().st_size
        if len(files) >= _MOST_FILES or total > _MOST_BYTES:
            raise TooLarge(
                what=f"{folder_name} has more than {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB",
                next="name a smaller folder, such as that of the app",
            )
        try:
            files[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            node.fail(f"{path} cannot be read", why=str(problem), next="leave it out of the folder")
    return files
