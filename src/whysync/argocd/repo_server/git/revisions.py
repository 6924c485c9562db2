"""Resolves a targetRevision to a commit: a commit, a branch, a tag, or a semver range of tags.

Mirrors `lsRemote` of util/git and `versions.MaxVersion`, Argo CD 3.6.
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
    """With the repo-server's message."""


def is_commit(revision: str) -> bool:
    return _COMMIT.fullmatch(revision) is not None


def commit_of(revision: str, refs: Mapping[str, str], *, tag_prefix: str = "") -> str:
    """The commit of a revision. `refs` are full reference names with their commits, including `HEAD`.

    An abbreviated commit is returned unchanged. Raises `RevisionUnknown`.
    """
    if is_commit(revision):
        return revision
    ref_name = _resolved_name(revision or "HEAD", refs, tag_prefix)
    for name, commit in refs.items():
        if name == ref_name or _short(name) == ref_name:
            return commit
    if _SHORT_COMMIT.fullmatch(ref_name):
        return ref_name
    raise RevisionUnknown(f"unable to resolve '{ref_name}' to a commit SHA: revision not found")


def _resolved_name(revision: str, refs: Mapping[str, str], prefix: str) -> str:
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
    """From `git ls-remote` or `git show-ref --head -d`; annotated tags are dereferenced (`^{}`)."""
    refs: dict[str, str] = {}
    for line in listing.splitlines():
        commit, _, name = line.replace("\t", " ", 1).partition(" ")
        if is_commit(commit) and name:
            refs[name.removesuffix("^{}")] = commit
    return refs
