"""The desired state from Git, rendered as Argo CD does, for sources that do not have it.

The files come from the checkout of `--local` or of the current directory, or from a fetch with the user's own
Git credentials, which is only done with `--git`. They are always those of the commit that Argo CD compared
last: the rows of the Application are about that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.argocd.api.application import Application
from whysync.argocd.api.git_head import Head
from whysync.argocd.compare.kind_scopes import is_cluster_scoped_kind
from whysync.argocd.compare.sources import has_multiple_sources, same_sources, source_of
from whysync.argocd.repo_server.git import (
    GitFailed,
    Repo,
    RevisionUnknown,
    open_repo,
    without_credentials,
    work_tree,
)
from whysync.argocd.repo_server.git.revisions import is_commit
from whysync.argocd.repo_server.git_sources import GitSources
from whysync.argocd.repo_server.git_url import repository_key, repository_path
from whysync.argocd.repo_server.render import RenderedSource, RenderOptions
from whysync.argocd.repo_server.render.options import with_settings
from whysync.argocd.repo_server.repository import RepoProblem
from whysync.argocd.settings import Settings
from whysync.deadline import Deadline
from whysync.errors import SourceError
from whysync.facts.kubernetes_api.desired import as_argocd_compares
from whysync.facts.rendered import HOW_TO_RENDER, Destination, FromGit, NotRendered
from whysync.facts.selection import Selection
from whysync.facts.snapshot import Gap, GapKind, Rendering, SourceFile, SourceFiles
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key, ref_of

MOST_RENDERED: Final = 25
"""Applications that are rendered if none is named."""
_SHORT: Final = 8
Progress = Callable[[str, int], None]
App = tuple[Manifest, Application]


def read_from_git(
    apps: Iterable[App],
    selection: Selection,
    *,
    settings: Iterable[Manifest],
    argocd_namespace: str,
    cluster_of: Callable[[Application], Destination],
    deadline: Deadline,
    heads_of: Iterable[App] = (),
    everything: bool = False,
    progress: Progress | None = None,
) -> FromGit:
    """Manifests of `apps`; with `--git` also the current commits of the branches of `heads_of`."""
    config = next((setting.body for setting in settings if setting.ref.name == "argocd-cm"), None)
    files = _Files(selection, config, argocd_namespace)
    limit = None if everything or selection.all_in_detail else MOST_RENDERED
    desired: dict[str, tuple[Manifest, ...]] = {}
    renderings: list[Rendering] = []
    gaps: list[Gap] = []
    unrendered: dict[str, NotRendered] = {}
    try:
        for number, (manifest, app) in enumerate(apps):
            if progress is not None:
                progress(f"manifests of {app.name}", 0)
            name = app.qualified_name
            try:
                if deadline.is_over:
                    raise NotRendered("--timeout was exceeded", is_gap=True)
                if limit is not None and number >= limit:
                    raise NotRendered(f"only {limit} are rendered if none is named", "pass their names")
                rendering, objects = files.rendered(manifest, app, cluster_of(app))
            except NotRendered as problem:
                unrendered[name] = problem
                if problem.is_gap:
                    gaps.append(_gap(name, problem))
            else:
                renderings.append(rendering)
                desired[name] = objects
        heads, head_gaps = files.heads(heads_of, deadline) if selection.git else ((), ())
    finally:
        files.close()
    return FromGit(
        desired=desired,
        renderings=tuple(renderings),
        heads=heads,
        gaps=(*dict.fromkeys(gaps), *head_gaps),
        unrendered=unrendered,
    )


def _gap(name: str, problem: NotRendered) -> Gap:
    return Gap(
        kind=GapKind.NOT_RENDERED,
        what=f"rendered manifests of {name}",
        why=problem.why,
        how_to_get=problem.how_to_get,
    )


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """A repository that has the files of a source; `words` say where it is."""

    repo: Repo
    words: str
    location: str


class _Files:
    """Finds the files of sources, and renders them."""

    def __init__(self, selection: Selection, argocd_cm: Object | None, argocd_namespace: str) -> None:
        self._git = selection.git
        self._namespace = argocd_namespace
        self._tracking = Settings.from_config_maps(argocd_cm, None)
        self._local = _checkout(selection.local)
        self._local_folder = _inside(selection.local)
        self._here = _checkout(selection.checkout)
        options = RenderOptions(network=selection.git, network_flag="--git")
        self._options = options if argocd_cm is None else with_settings(options, argocd_cm)
        self._remotes: dict[str, Repo] = {}
        self._sources: dict[tuple[tuple[str, str], ...], GitSources] = {}
        self._pins: dict[tuple[str, str], str] = {}

    def close(self) -> None:
        for sources in self._sources.values():
            sources.close()

    # --- rendering ---------------------------------------------------------------------------------

    def rendered(
        self, manifest: Manifest, app: Application, cluster: Destination
    ) -> tuple[Rendering, tuple[Manifest, ...]]:
        """Raises `NotRendered`."""
        body = _as_compared(manifest.body)
        every = _sources_of(body)
        if not app.revisions or len(app.revisions) != len(every):
            raise NotRendered("Argo CD has not compared a commit of it", "wait for its next refresh")
        pairs = list(zip(every, app.revisions, strict=True))
        places = [None if source.get("chart") else self._place(source, commit) for source, commit in pairs]
        git_sources = self._git_sources(pairs, places)
        git_sources.options = replace(
            self._options, kube_version=cluster.kube_version, api_versions=cluster.kinds.api_versions()
        )
        self._pins.clear()
        self._pins |= {
            (repository_key(text(source.get("repoURL"))), text(source.get("targetRevision"))): commit
            for source, commit in pairs
        }
        objects: list[Manifest] = []
        files: list[SourceFiles] = []
        for (source, commit), place in zip(pairs, places, strict=True):
            if _is_reference(source):
                continue
            result = self._render(git_sources, body, source, commit, app)
            if place is not None:
                files.append(_files_of(result, place, commit, app))
            objects += [
                Manifest(
                    as_argocd_compares(obj.body, app, cluster.kinds, self._tracking, self._namespace),
                    role=Role.DESIRED,
                    origin=str(obj.origin),
                )
                for obj in result.objects
            ]
        return Rendering(app=app.qualified_name, words=_words(pairs, places), files=tuple(files)), tuple(
            objects
        )

    def _render(
        self, git_sources: GitSources, body: Object, source: Object, commit: str, app: Application
    ) -> RenderedSource:
        try:
            return git_sources.rendered(body, source, commit)
        except RepoProblem as problem:
            missing = git_sources.unavailable.get(app.qualified_name)
            if missing is not None:
                why = f"{missing.what}: {missing.why}" if missing.why else missing.what
                raise NotRendered(why, missing.next, is_gap=True) from problem
            raise NotRendered(
                f"they cannot be rendered here: {problem.message}", HOW_TO_RENDER, is_gap=True
            ) from problem

    def _git_sources(self, pairs: list[tuple[Object, str]], places: list[_Place | None]) -> GitSources:
        """The renderer of Applications whose sources are at the same places; it keeps their files."""
        repos = {
            repository_key(url := text(source.get("repoURL"))): (place.words, place.repo.known_as(url))
            for (source, _), place in zip(pairs, places, strict=True)
            if place is not None
        }
        key = tuple(sorted((url, words) for url, (words, _) in repos.items()))
        if key not in self._sources:
            self._sources[key] = GitSources(
                (repo for _, repo in repos.values()),
                options=self._options,
                commit_override=lambda url, revision: self._pins.get((repository_key(url), revision), ""),
                argocd_namespace=self._namespace,
            )
        return self._sources[key]

    # --- repositories ------------------------------------------------------------------------------

    def _place(self, source: Object, commit: str) -> _Place:
        """The repository that has this commit. Raises `NotRendered`."""
        url = text(source.get("repoURL"))
        lacking: list[str] = []
        if not is_commit(commit):
            raise NotRendered(f"{commit!r} is no commit of Git")
        if self._local is not None and _has_folder(self._local, commit, self._local_folder):
            return _Place(repo=self._local, words=f"--local {self._local.url}", location=self._local.url)
        if self._local is not None and _belongs(self._local, url):
            lacking.append(self._local.url)
        if self._here is not None and _belongs(self._here, url):
            if self._here.has(commit):
                words = f"the checkout {self._here.url}"
                return _Place(repo=self._here, words=words, location=self._here.url)
            lacking.append(self._here.url)
        public = without_credentials(url)
        if self._git:
            return _Place(repo=self._remote(url), words=f"{public}, fetched", location=url)
        if lacking:
            raise NotRendered(
                f"the checkout {lacking[0]} does not have commit {commit[:_SHORT]}, which Argo CD compared",
                "git fetch there, or pass --git",
                is_gap=True,
            )
        raise NotRendered(f"no checkout of {public} is given", HOW_TO_RENDER)

    def _remote(self, url: str) -> Repo:
        """Raises `NotRendered`."""
        key = repository_key(url)
        if key not in self._remotes:
            try:
                self._remotes[key] = open_repo(url, network=True)
            except (SourceError, GitFailed) as problem:
                raise NotRendered(
                    _reason(problem), "check the URL and your Git credentials", is_gap=True
                ) from problem
        return self._remotes[key]

    def heads(self, apps: Iterable[App], deadline: Deadline) -> tuple[tuple[Head, ...], tuple[Gap, ...]]:
        """The commits that the branches of these Applications have now."""
        heads: dict[tuple[str, str], Head] = {}
        gaps: dict[tuple[str, str], Gap] = {}
        for manifest, _ in apps:
            for source in _sources_of(manifest.body):
                url, revision = text(source.get("repoURL")), text(source.get("targetRevision")) or "HEAD"
                key = repository_key(url), revision
                if source.get("chart") or not url or url.startswith("oci://") or key in {*heads, *gaps}:
                    continue
                public = without_credentials(url)
                try:
                    if deadline.is_over:
                        raise NotRendered("--timeout was exceeded")
                    repo = self._remote(url)
                    commit = repo.resolve(revision, tag_prefix=text(source.get("tagPrefix")))
                    heads[key] = Head(repo=public, revision=revision, commit=commit)
                except (NotRendered, SourceError, GitFailed, RevisionUnknown) as problem:
                    gaps[key] = Gap(
                        kind=GapKind.FAILED,
                        what=f"the current commit of {revision} in {public}",
                        why=_reason(problem),
                        how_to_get="whysync uses the Git credentials of your user; check git ls-remote",
                    )
        return tuple(heads.values()), tuple(gaps.values())


def _reason(problem: Exception) -> str:
    if isinstance(problem, SourceError):
        return f"{problem.what}: {problem.why}" if problem.why else problem.what
    return problem.message if isinstance(problem, GitFailed) else str(problem)


def _checkout(folder: str) -> Repo | None:
    """The checkout that contains a folder; `None` if there is none that Git reads. `url` is its path."""
    root = work_tree(folder) if folder else None
    if root is None:
        return None
    with suppress(SourceError, GitFailed):
        return open_repo(str(root), url=str(root))
    return None


def _inside(folder: str) -> str:
    """The path of a folder in its checkout; empty for its root."""
    root = work_tree(folder) if folder else None
    path = Path(folder).resolve().relative_to(root).as_posix() if root is not None else ""
    return "" if path == "." else path


def _belongs(checkout: Repo, url: str) -> bool:
    wanted = repository_path(url)
    return bool(wanted) and any(repository_path(remote) == wanted for remote in checkout.remotes())


def _has_folder(checkout: Repo, commit: str, folder: str) -> bool:
    """Is the folder part of the commit? Otherwise it has rendered manifests, not their sources."""
    if not checkout.has(commit):
        return False
    return not folder or checkout.git.run(("cat-file", "-e", f"{commit}:{folder}")).code == 0


def is_checkout_of(folder: str, apps: Iterable[Application]) -> bool:
    """Does the folder have the files of a source of one of these Applications, in a checkout?"""
    checkout, inside = _checkout(folder), _inside(folder)
    if checkout is None:
        return False
    for app in apps:
        if any(is_commit(commit) and _has_folder(checkout, commit, inside) for commit in app.revisions):
            return True
        if not inside and any(_belongs(checkout, source.repo_url) for source in app.sources):
            return True  # it lacks the commit
    return False


# --- Applications ----------------------------------------------------------------------------------------


def _as_compared(body: Object) -> Object:
    """The Application with the sources that Argo CD compared last, if they were changed since."""
    spec, compared = fields(body.get("spec")), fields(dig(body, "status", "sync", "comparedTo"))
    names = ("source", "sources")
    if spec.get("sourceHydrator") or not any(compared.get(name) for name in names):
        return body
    if same_sources(spec, compared):
        return body
    kept = {key: value for key, value in spec.items() if key not in names}
    return {**body, "spec": {**kept, **{name: compared[name] for name in names if compared.get(name)}}}


def _sources_of(body: Object) -> list[Object]:
    spec = fields(body.get("spec"))
    if has_multiple_sources(spec):
        return [fields(source) for source in items(spec.get("sources"))]
    return [source_of(spec)]


def _is_reference(source: Object) -> bool:
    """Does another source only use its files? Mirrors `IsRef` without a path, Argo CD 3.6."""
    return bool(source.get("ref")) and not source.get("path") and not source.get("chart")


def _words(pairs: list[tuple[Object, str]], places: list[_Place | None]) -> str:
    """`the checkout /home/me/shop at 1a2b3c4d`."""
    return " and ".join(
        dict.fromkeys(
            f"{place.words} at {commit[:_SHORT]}"
            if place is not None
            else f"chart {text(source.get('chart'))} {commit}"
            for (source, commit), place in zip(pairs, places, strict=True)
        )
    )


def _files_of(result: RenderedSource, place: _Place, commit: str, app: Application) -> SourceFiles:
    namespace = app.spec.destination.namespace
    files: dict[Key, SourceFile] = {}
    for obj in result.objects:
        key = ref_of(obj.body).key
        if not key.namespace and not is_cluster_scoped_kind(key.kind):
            key = key._replace(namespace=namespace)
        origin = obj.origin
        files.setdefault(key, SourceFile(path=origin.path, line=origin.line, made_by=origin.made_by))
    return SourceFiles(location=place.location, commit=commit, files=files)
