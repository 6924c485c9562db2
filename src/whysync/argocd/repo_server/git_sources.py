"""`GitSources`: a `Repository` of real Git commits, rendered by the real tools.

Sources that only this machine cannot render (because a tool, the network or a plugin is missing) are recorded
in `unavailable`: the simulation treats them as a failed source, a report as a gap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.argocd.api.git_head import Head
from whysync.argocd.repo_server.git import (
    GitFailed,
    Repo,
    RevisionUnknown,
    Tree,
    cached_repo,
    open_repo,
    without_credentials,
)
from whysync.argocd.repo_server.git_url import normalize_git_url, repository_key
from whysync.argocd.repo_server.render import (
    CannotRender,
    RefSource,
    RenderedSource,
    RenderOptions,
    RenderProblem,
    render,
)
from whysync.argocd.repo_server.render.helm_pull import chart_version, pulled_chart
from whysync.argocd.repo_server.repository import Rendered, RepoProblem
from whysync.errors import SourceError
from whysync.json_tree import Object, dig, fields, items, text

_MAX_TREES: Final = 16
_OCI: Final = "oci://"
_REF: Final = re.compile(r"[a-zA-Z0-9_-]+")

CommitOverride = Callable[[str, str], str]
"""Maps a repository URL and a revision to a commit; empty means to resolve it in the repository."""


class GitSources:
    """A `Repository` on Git. With `commit_override`, a plan sets the commit of a branch after a merge."""

    def __init__(
        self,
        repos: Iterable[Repo] = (),
        *,
        options: RenderOptions | None = None,
        commit_override: CommitOverride | None = None,
        failed: dict[bytes, RepoProblem] | None = None,
        argocd_namespace: str = "argocd",
    ) -> None:
        """`failed` can be shared by several instances, so that failed renderings are not repeated.

        An app outside of `argocd_namespace` has its namespace in its name, as in `$ARGOCD_APP_NAME`.
        """
        self._argocd_namespace = argocd_namespace
        self.options = options or RenderOptions()
        self.unavailable: dict[str, SourceError] = {}
        """By qualified app name: why this machine cannot render its sources."""
        self._repos = {repository_key(repo.url): repo for repo in repos}
        self._commit_override = commit_override
        self._trees: dict[tuple[str, str], Tree] = {}
        self._added_trees: dict[tuple[str, str], Tree] = {}
        self._rendered: dict[bytes, RenderedSource] = {}
        self._failed = failed
        self._heads: dict[tuple[str, str], str] = {}

    # --- Repository --------------------------------------------------------------------------------

    def resolve(self, source: Object, revision: str) -> str:
        url = text(source.get("repoURL"))
        try:
            commit = self._commit(source, revision)
        except (GitFailed, RevisionUnknown, RenderProblem, SourceError) as problem:
            raise _as_repo_problem(problem) from problem
        self._heads[without_credentials(url), revision or "HEAD"] = commit
        return commit

    def render(self, application: Object, source: Object, commit: str) -> Rendered:
        rendered = self.rendered(application, source, commit)
        return Rendered(
            manifests=tuple(obj.body for obj in rendered.objects), source_type=rendered.source_type
        )

    def heads(self) -> Sequence[Head]:
        return tuple(
            Head(repo=repo, revision=revision, commit=commit)
            for (repo, revision), commit in sorted(self._heads.items())
        )

    # --- rendering with origins --------------------------------------------------------------------

    def rendered(self, application: Object, source: Object, commit: str) -> RenderedSource:
        """The objects with their origins; cached. Raises `RepoProblem`."""
        key = _key(application, source, commit)
        has_refs = bool(_referenced_sources(source))  # the commits of referenced sources may change
        cached = None if has_refs else self._rendered.get(key)
        if cached is not None:
            return cached
        if self._failed is not None and not has_refs and key in self._failed:
            raise self._failed[key]
        name = _qualified(application)
        try:
            tree = self._tree(source, commit)
            options = replace(
                self.options,
                instance=self._instance(application),
                refs=self._refs(application, source, commit),
            )
            result = render(application, source, tree, commit=commit, options=options)
        except (GitFailed, RevisionUnknown, RenderProblem, SourceError) as problem:
            repo_problem = _as_repo_problem(problem)
            if isinstance(problem, SourceError):
                self.unavailable[name] = problem
            elif self._failed is not None:
                self._failed[key] = repo_problem
            raise repo_problem from problem
        self._rendered[key] = result
        return result

    def tree(self, source: Object, commit: str) -> Tree:
        """The files of a source; closed with this object. Raises `RepoProblem`."""
        try:
            return self._tree(source, commit)
        except (GitFailed, RevisionUnknown, RenderProblem, SourceError) as problem:
            raise _as_repo_problem(problem) from problem

    def add_tree(self, url: str, commit: str, tree: Tree) -> None:
        """Adds files under a commit name of `commit_override`; the caller closes the tree."""
        self._added_trees[repository_key(url), commit] = tree

    def repo(self, url: str) -> Repo:
        """Raises `SourceError`, `GitFailed`."""
        key = repository_key(url)
        repo = self._repos.get(key)
        if repo is None:
            repo = open_repo(url, network=True) if self.options.network else cached_repo(url)
            if repo is None:
                flag = self.options.network_flag
                raise CannotRender(
                    what=f"the repository {without_credentials(url)} is not available locally",
                    why=f"it is not in the cache, and the network is used only with {flag}",
                    next=f"allow it with {flag}",
                    part=f"repository {without_credentials(url)}",
                    shared="not in the cache",
                )
            self._repos[key] = repo
        return repo

    def refresh(self) -> None:
        """Clears the cached references of all repositories."""
        for repo in self._repos.values():
            repo.forget()

    def close(self) -> None:
        for tree in self._trees.values():
            tree.close()
        self._trees.clear()

    def __enter__(self) -> GitSources:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- implementation ----------------------------------------------------------------------------

    def _commit(self, source: Object, revision: str) -> str:
        url, chart = _chart_of(source)
        if chart:
            with _unread_artifact(source):
                return chart_version(url, chart, revision, self.options)
        known_commit = self._commit_override(url, revision) if self._commit_override is not None else ""
        return known_commit or self.repo(url).resolve(revision, tag_prefix=text(source.get("tagPrefix")))

    def _tree(self, source: Object, commit: str) -> Tree:
        url, chart = _chart_of(source)
        key = (f"{url}#{chart}" if chart else repository_key(url)), commit
        tree = self._added_trees.get(key) or self._trees.pop(key, None)
        if tree is None:
            if chart:
                with _unread_artifact(source):
                    tree = pulled_chart(url, chart, commit, self.options)
            else:
                tree = self.repo(url).tree(commit)
        if key not in self._added_trees:
            self._trees[key] = tree  # least recently used first
            while len(self._trees) > _MAX_TREES:
                self._trees.pop(next(iter(self._trees))).close()
        return tree

    def _refs(self, application: Object, source: Object, commit: str) -> dict[str, RefSource]:
        """Mirrors `GetRefSources` and the checks of `runManifestGenAsync`, Argo CD 3.6."""
        sources_by_ref: dict[str, Object] = {}
        for source_fields in map(fields, items(dig(application, "spec", "sources"))):
            ref = text(source_fields.get("ref"))
            if not ref:
                continue
            if _REF.fullmatch(ref) is None:
                raise RenderProblem(
                    f"sources.ref {ref} cannot contain any special characters except '_' and '-'"
                )
            if f"${ref}" in sources_by_ref:
                raise RenderProblem("invalid sources: multiple sources had the same `ref` key")
            sources_by_ref[f"${ref}"] = source_fields
        referenced = _referenced_sources(source)
        refs: dict[str, RefSource] = {}
        revisions: dict[str, tuple[str, str]] = {}
        for name, ref_source in sources_by_ref.items():
            url, target_revision = text(ref_source.get("repoURL")), text(ref_source.get("targetRevision"))
            tree = None
            if name in referenced and not ref_source.get("chart"):
                tree = self._ref_tree(name, ref_source, source, commit, revisions)
            refs[name] = RefSource(
                repo=url, target_revision=target_revision, chart=text(ref_source.get("chart")), tree=tree
            )
        return refs

    def _ref_tree(
        self, name: str, ref: Object, source: Object, commit: str, revisions: dict[str, tuple[str, str]]
    ) -> Tree:
        url, revision = text(ref.get("repoURL")), text(ref.get("targetRevision"))
        normalized_url = normalize_git_url(url)
        first = revisions.setdefault(normalized_url, (name, revision))
        if first[1] != revision:
            raise RenderProblem(
                f"cannot reference multiple revisions for the same repository ({name} references "
                f'"{revision}" while {first[0]} references "{first[1]}")'
            )
        try:
            resolved = self._commit(ref, revision)
        except (GitFailed, RevisionUnknown) as problem:
            raise RenderProblem(f"failed to get git client for repo {without_credentials(url)}") from problem
        if (
            normalize_git_url(text(source.get("repoURL"))) == normalized_url
            and not source.get("chart")
            and resolved != commit
        ):
            raise RenderProblem(
                "cannot reference a different revision of the same repository "
                f'({name} references "{revision}" which resolves to "{resolved}" while the application '
                f'references "{text(source.get("targetRevision"))}" which resolves to "{commit}")'
            )
        return self._tree(ref, resolved)

    def _instance(self, application: Object) -> str:
        meta = fields(application.get("metadata"))
        name, namespace = text(meta.get("name")), text(meta.get("namespace"))
        return name if namespace in ("", self._argocd_namespace) else f"{namespace}_{name}"


def _referenced_sources(source: Object) -> set[str]:
    helm = fields(source.get("helm"))
    files = [text(value_file) for value_file in items(helm.get("valueFiles"))]
    files += [
        text(fields(file_parameter).get("path")) for file_parameter in items(helm.get("fileParameters"))
    ]
    return {file.partition("/")[0] for file in files if file.startswith("$")}


def _chart_of(source: Object) -> tuple[str, str]:
    """The repository and the name of a chart; the name is empty for a source in Git.

    The artifact of an `oci://` source is taken to be a chart: Argo CD unpacks it, so that `path` is in it.
    """
    url, chart = text(source.get("repoURL")), text(source.get("chart"))
    if not chart and url.startswith(_OCI):
        url, _, chart = url.rstrip("/").rpartition("/")
    return url, chart


@contextmanager
def _unread_artifact(source: Object) -> Generator[None]:
    """Argo CD reads OCI artifacts of other types as well."""
    try:
        yield
    except RenderProblem as problem:
        url = without_credentials(text(source.get("repoURL")))
        if source.get("chart") or not url.startswith(_OCI):
            raise
        raise CannotRender(
            what=f"{url} is not read",
            why=f"whysync reads OCI artifacts that are charts: {problem.text}",
            next="give whysync the rendered manifests as a bundle",
            part=url,
            shared="whysync reads only OCI artifacts that are charts",
        ) from problem


def _key(application: Object, source: Object, commit: str) -> bytes:
    """The inputs of rendering except the files."""
    spec = fields(application.get("spec"))
    return msgspec.json.encode(
        [
            _qualified(application),
            spec.get("project"),
            dig(spec, "destination", "namespace") or None,
            spec.get("sources"),
            source,
            commit,
        ],
        order="deterministic",
    )


def _qualified(application: Object) -> str:
    meta = fields(application.get("metadata"))
    return f"{text(meta.get('namespace'))}/{text(meta.get('name'))}"


def _as_repo_problem(problem: Exception) -> RepoProblem:
    match problem:
        case GitFailed():
            return RepoProblem(problem.message)
        case RenderProblem():
            return RepoProblem(problem.text, code=problem.code)
        case SourceError():
            return RepoProblem(f"{problem.what}: {problem.why}" if problem.why else problem.what)
        case _:
            return RepoProblem(str(problem))
