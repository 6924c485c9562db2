"""Git repositories, read with the `git` command and never written to."""

from __future__ import annotations

from whysync.argocd.repo_server.git.command import GitFailed, without_credentials
from whysync.argocd.repo_server.git.repo import (
    Repo,
    cache_folder,
    cached_repo,
    open_repo,
    tree_of_work_tree,
    work_tree,
)
from whysync.argocd.repo_server.git.revisions import RevisionUnknown
from whysync.argocd.repo_server.git.tree import Tree, tree_of_folder

__all__ = [
    "GitFailed",
    "Repo",
    "RevisionUnknown",
    "Tree",
    "cache_folder",
    "cached_repo",
    "open_repo",
    "tree_of_folder",
    "tree_of_work_tree",
    "without_credentials",
    "work_tree",
]
