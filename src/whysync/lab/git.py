"""The Git repositories of a running scenario, with manifests as Argo CD's repo-server reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec.structs import replace

from whysync.argocd.repo_server.repository import Folder, GitRepositories, GitRepository, Outage
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.clock import Clock
from whysync.lab.scenario import Commit, Rendering, Repo, Scenario

_MANIFESTS = (".yaml", ".yml", ".json")


class Git:
    """All repositories, their contents and whether they are reachable."""

    def __init__(self, scenario: Scenario, clock: Clock) -> None:
        deep = _recursive(scenario.applications)
        self._checkouts = {repo.url: _Checkout(repo, clock, deep) for repo in scenario.repos}
        self.repositories = GitRepositories([checkout.repository for checkout in self._checkouts.values()])
        for repo in scenario.repos:
            for commit in repo.commits:
                self.push(repo.url, commit)

    def push(self, url: str, commit: Commit, *, branch: str = "") -> str:
        return self._checkouts[url].push(commit, branch)

    def has_repo(self, url: str) -> bool:
        return url in self._checkouts

    def delete(self, url: str, branch: str) -> bool:
        """Delete a branch; False if it does not exist."""
        return self._checkouts[url].repository.branches.pop(branch, None) is not None

    def set_error(self, url: str, error: str) -> None:
        """From now on the host responds with this error; without one it works again."""
        repository = self._checkouts[url].repository
        repository.outages[:] = [Outage(text=error)] if error else []

    def fail(self, path: str, error: str) -> None:
        """Rendering a path fails for any commit; without an error it works again."""
        for checkout in self._checkouts.values():
            checkout.fail(path, error)


def _recursive(applications: Iterable[Object]) -> frozenset[str]:
    paths: set[str] = set()
    for app in applications:
        for raw in [dig(app, "spec", "source"), *items(fields(app.get("spec")).get("sources"))]:
            if dig(raw, "directory", "recurse") is True:
                paths.add(text(dig(raw, "path")).strip("/") or ".")
    return frozenset(paths)


class _Checkout:
    def __init__(self, repo: Repo, clock: Clock, deep: frozenset[str]) -> None:
        self.repository = GitRepository(url=repo.url, clock=clock, default_branch=repo.branch)
        self._deep = deep
        self._files: dict[str, dict[str, str]] = {}
        self._renders: dict[str, dict[str, Rendering]] = {}
        self._failing: dict[str, str] = {}

    def push(self, commit: Commit, branch: str) -> str:
        repository = self.repository
        branch = branch or repository.default_branch
        parent = repository.branches.get(branch) or repository.branches.get(repository.default_branch, "")
        files = {**self._files.get(parent, {}), **commit.files}
        for removed in commit.removes:
            files = {path: content for path, content in files.items() if not _is_below(path, removed)}
        renders = {**self._renders.get(parent, {}), **commit.renders}
        name = _name(commit, parent, files)
        self._files[name], self._renders[name] = files, renders
        repository.commits[name] = {
            path: self._outcome(path, folder) for path, folder in _folders(files, renders, self._deep).items()
        }
        repository.branches[branch] = name
        return name

    def fail(self, path: str, error: str) -> None:
        self._failing[path] = error
        for folders in self.repository.commits.values():
            if path in folders:
                folders[path] = replace(folders[path], error=error)

    def _outcome(self, path: str, folder: Folder) -> Folder:
        error = self._failing.get(path, "")
        return replace(folder, error=error) if error else folder


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _name(commit: Commit, parent: str, files: dict[str, str]) -> str:
    """A commit id with the length of Git's, deterministic, with the prefix of the scenario."""
    identity = "\0".join([parent, commit.message, *(f"{path}\0{files[path]}" for path in sorted(files))])
    return (commit.id + hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest())[:40]


def _folders(files: dict[str, str], renders: dict[str, Rendering], deep: frozenset[str]) -> dict[str, Folder]:
    paths_by_folder: dict[str, list[str]] = {path: [] for path in deep}
    for path in sorted(files):
        folder, _, name = path.rpartition("/")
        paths_by_folder.setdefault(folder or ".", [])
        if name.endswith(_MANIFESTS):
            paths_by_folder[folder or "."].append(path)
            for above in deep:
                below = above == "." or path.startswith(f"{above}/")
                if below and path not in paths_by_folder[above]:
                    paths_by_folder[above].append(path)
    folders = {
        folder: _plain({path: files[path] for path in paths})
        for folder, paths in paths_by_folder.items()
        if folder not in renders
    }
    for path, rendering in renders.items():
        kind = "Kustomize" if f"{path}/kustomization.yaml" in files else "Helm"
        folders[path] = Folder(
            manifests=tuple(manifests_in(rendering.manifests)),
            error=rendering.error,
            source_type=kind,
            random=rendering.random,
        )
    return folders


def _plain(files: dict[str, str]) -> Folder:
    """A directory of plain manifests; one file that cannot be parsed makes all of it fail."""
    for path, content in files.items():
        problem = _unreadable(content)
        if problem:
            name = path.rpartition("/")[2]
            return Folder(error=f'Failed to unmarshal "{name}": {problem}', code="FailedPrecondition")
    return Folder(
        manifests=tuple(manifest for content in files.values() for manifest in manifests_in(content))
    )


def _unreadable(content: str) -> str:
    """Mirrors `getObjsFromYAMLOrJSON`, Argo CD 3.6: files that do not look like manifests are skipped."""
    if not any(isinstance(document, yaml.Broken) for document in yaml.documents(content)):
        return ""
    from whysync.argocd.repo_server.render.decode import (  # rarely needed, and slow to import
        NotAnObject,
        objects_in,
    )

    count = 0
    try:
        for _ in objects_in(content):
            count += 1
    except NotAnObject as problem:
        is_manifest = all(key in content for key in ("apiVersion:", "kind:", "metadata:"))
        return problem.text if count or is_manifest else ""
    return ""


def manifests_in(text: str) -> list[Object]:
    """The objects of a file; documents without a kind (a values file) are skipped."""
    bodies = (document.body for document in yaml.documents(text) if isinstance(document, yaml.Document))
    return [body for body in bodies if isinstance(body, dict) and body.get("kind") and body.get("apiVersion")]
