"""The repo-server: renders sources through its caches.

Mirrors `GenerateManifest`, `getManifestCacheEntry` and `GetRepoObjs`, Argo CD 3.6. A branch is resolved again
only when the cached commit expires or a refresh is requested; manifests of a commit are rendered once. A
source that failed three times in a row is not rendered again for an hour, even if the cause outside of Git is
fixed, unless there is a hard refresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import is_
from typing import Final

import msgspec

from whysync.argocd.repo_server.git_url import normalize_git_url
from whysync.argocd.repo_server.repository import Rendered, RepoProblem, Repository
from whysync.argocd.settings import Settings
from whysync.argocd.tracking import LabelTooLong, MalformedMetadata
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.clock import Clock

_FAILURES: Final = 3
_PAUSE: Final = timedelta(minutes=60)
_RENDERINGS_TTL: Final = timedelta(hours=24)
_MAX_JOINED: Final = 1000
REVISIONS_TTL: Final = timedelta(minutes=3)


class NoTargets(Exception):
    """Rendering failed; the text follows `Failed to load target state: `."""


class ManifestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the manifests of an app.

    `hard` ignores the manifest cache; `fresh` ignores the cached commits of branches.
    """

    application: Object
    instance: str
    namespace: str
    settings: Settings
    hard: bool = False
    fresh: bool = False


class Manifests(msgspec.Struct, frozen=True, kw_only=True):
    """With tracking metadata; the same tuple as long as nothing is rendered again."""

    objects: tuple[Object, ...]
    revisions: tuple[str, ...]
    source_types: tuple[str, ...]


class _Failed(msgspec.Struct):
    first: datetime
    times: int
    error: str


class _CachedRendering(msgspec.Struct, frozen=True):
    at: datetime
    rendered: Rendered


class RepoServer:
    def __init__(self, repository: Repository, clock: Clock) -> None:
        self.repository = repository
        self.revisions_ttl = REVISIONS_TTL
        self._clock = clock
        self._commits: dict[tuple[str, str, str], tuple[datetime, str]] = {}
        self._rendered: dict[bytes, _CachedRendering] = {}
        self._failed: dict[bytes, _Failed] = {}
        self._joined: dict[tuple[str, ...], tuple[tuple[tuple[Rendered, ...], Manifests], ...]] = {}
        """By revisions: the joined objects and the rendered sources, so that the tuple stays identical."""

    def manifests(
        self, request: ManifestRequest, sources: Sequence[Object], revisions: Sequence[str]
    ) -> Manifests:
        """Raises `NoTargets` with the controller's message."""
        rendered_sources: list[tuple[str, Rendered]] = []
        for index, source in enumerate(sources):
            requested = revisions[index] if len(revisions) == len(sources) else ""
            revision = requested or text(source.get("targetRevision"))
            try:
                rendered_sources.append(self._generate(request, source, revision, several=len(sources) > 1))
            except RepoProblem as problem:
                raise NoTargets(
                    f"failed to generate manifest for source {index + 1} of {len(sources)}: "
                    f"rpc error: code = {problem.code} desc = {problem.message}"
                ) from problem
        return self._join(rendered_sources)

    def _join(self, rendered_sources: Sequence[tuple[str, Rendered]]) -> Manifests:
        revisions = tuple(commit for commit, _ in rendered_sources)
        sources = tuple(rendered for _, rendered in rendered_sources)
        cached = self._joined.get(revisions, ())
        for before, joined in cached:
            if len(before) == len(sources) and all(map(is_, before, sources)):
                return joined
        manifests = Manifests(
            objects=rendered_sources[0][1].manifests
            if len(rendered_sources) == 1
            else tuple(obj for _, rendered in rendered_sources for obj in rendered.manifests),
            revisions=revisions,
            source_types=tuple(rendered.source_type for _, rendered in rendered_sources),
        )
        self._joined[revisions] = (*cached[-_MAX_JOINED:], (sources, manifests))
        return manifests

    def commit(self, source: Object, revision: str, *, fresh: bool) -> str:
        """The commit of a revision, cached. Raises `RepoProblem`."""
        chart = text(source.get("chart"))
        if not chart and _is_commit(revision):
            return revision
        key = normalize_git_url(text(source.get("repoURL"))), chart, revision
        cached = self._commits.get(key)
        now = self._clock.now
        if cached is not None and not fresh and now - cached[0] < self.revisions_ttl:
            return cached[1]
        commit = self.repository.resolve(source, revision)
        self._commits[key] = now, commit
        return commit

    def _generate(
        self, request: ManifestRequest, source: Object, revision: str, *, several: bool
    ) -> tuple[str, Rendered]:
        commit = self.commit(source, revision, fresh=request.fresh or request.hard)
        if several and not source.get("path") and not source.get("chart"):
            return commit, _NOTHING
        key = _key(request, source, commit)
        if not request.hard:
            cached = self._cached_rendering(key)
            if cached is not None:
                return commit, cached
        try:
            rendered = _with_tracking(self.repository.render(request.application, source, commit), request)
        except RepoProblem as problem:
            failed = self._failed.setdefault(key, _Failed(self._clock.now, 0, ""))
            failed.times += 1
            failed.error = _cached_error(problem)
            self._rendered.pop(key, None)
            raise
        self._failed.pop(key, None)
        self._rendered[key] = _CachedRendering(self._clock.now, rendered)
        return commit, rendered

    def _cached_rendering(self, key: bytes) -> Rendered | None:
        now = self._clock.now
        failed = self._failed.get(key)
        if failed is not None and failed.times >= _FAILURES:
            if now - failed.first < _PAUSE:
                raise RepoProblem(f"Manifest generation error (cached): {failed.error}")
            del self._failed[key]
        entry = self._rendered.get(key)
        return entry.rendered if entry is not None and now - entry.at < _RENDERINGS_TTL else None


_NOTHING: Final = Rendered(manifests=(), source_type="")


def _cached_error(problem: RepoProblem) -> str:
    """The cached error contains its gRPC status: `rpc error: code = FailedPrecondition desc = …`."""
    if problem.code == "Unknown":
        return problem.message
    return f"rpc error: code = {problem.code} desc = {problem.message}"


def _is_commit(revision: str) -> bool:
    return len(revision) == 40 and all(letter in "0123456789abcdefABCDEF" for letter in revision)


def _key(request: ManifestRequest, source: Object, commit: str) -> bytes:
    settings = request.settings
    inputs: list[Json] = [
        commit,
        source,
        request.instance,
        request.namespace,
        settings.tracking_method,
        settings.instance_label_key,
        settings.installation_id,
    ]
    return msgspec.json.encode(inputs, order="deterministic")


def _with_tracking(rendered: Rendered, request: ManifestRequest) -> Rendered:
    """With tracking metadata, except on CRDs; Lists are replaced by their items."""
    settings = request.settings
    tracked: list[Object] = []
    for obj in _unlisted(rendered.manifests):
        try:
            tracked.append(settings.with_tracking(obj, app=request.instance, namespace=request.namespace))
        except (MalformedMetadata, LabelTooLong) as problem:
            message = f"failed to set app instance tracking info on manifest: {problem}"
            raise RepoProblem(message) from problem
    return Rendered(manifests=tuple(tracked), source_type=rendered.source_type)


def _unlisted(objects: Sequence[Object]) -> list[Object]:
    unlisted: list[Object] = []
    for obj in objects:
        if text(obj.get("kind")).endswith("List") and isinstance(obj.get("items"), list):
            unlisted += [fields(item) for item in items(obj.get("items"))]
        elif obj:
            unlisted.append(obj)
    return unlisted
