"""What a targetRevision means in a repository: a commit, a branch, a tag, a range of tags.

Mirrors `lsRemote` of util/git and `versions.MaxVersion`, Argo CD 3.6. Pure: the references are given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from whysync.argocd.repo_server.git.semver import is_range, newest, version_of

_COMMIT: Final = re.compile(r"[0-9A-Fa-f]{40}")
_SHORT_COMMIT: Final = re.compile(r"[0-9A-Fa-f]{7,}")
_FOLDERS: Final = ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/")


class RevisionUnknown(Exception):
    """The text is the repo-server's."""


def is_commit(revision: str) -> bool:
    return _COMMIT.fullmatch(revision) is not None


def commit_of(revision: str, refs: Mapping[str, str], *, tag_prefix: str = "") -> str:
    """The commit of a revision. `refs` are full names with their commits, `HEAD` among them.

    A short commit comes back as it is: Git completes it. Raises `RevisionUnknown`.
    """
    if is_commit(revision):
        return revision
    wanted = _named(revision or "HEAD", refs, tag_prefix)
    for name, commit in refs.items():
        if name == wanted or _short(name) == wanted:
            return commit
    if _SHORT_COMMIT.fullmatch(wanted):
        return wanted
    raise RevisionUnknown(f"unable to resolve '{wanted}' to a commit SHA: revision not found")


def _named(revision: str, refs: Mapping[str, str], prefix: str) -> str:
    if version_of(revision) is not None:
        return prefix + revision
    if not is_range(revision):
        return revision
    tags = [name.removeprefix("refs/tags/") for name in refs if name.startswith("refs/tags/")]
    tag = newest(revision, [tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)])
    return revision if tag is None else prefix + tag


def _short(name: str) -> str:
    for folder in _FOLDERS:
        if name.startswith(folder):
            return name.removeprefix(folder)
    return name


def refs_in(listing: str) -> dict[str, str]:
    """From `git ls-remote` or `git show-ref --head -d`: annotated tags lead to what they name (`^{}`)."""
    refs: dict[str, str] = {}
    for line in listing.splitlines():
        commit, _, name = line.replace("\t", " ", 1).partition(" ")
        if is_commit(commit) and name:
            refs[name.removesuffix("^{}")] = commit
    return refs
