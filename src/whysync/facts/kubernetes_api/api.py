"""One API server: its kinds, its lists, and its gaps."""

from __future__ import annotations

from collections.abc import Callable

from whysync.facts.http.client import Client
from whysync.facts.http.errors import CONNECTION_ERRORS, HttpError, MalformedResponse, Missing, TooLarge
from whysync.facts.kubernetes_api.discovery import Kind, Kinds
from whysync.facts.kubernetes_api.gaps import Gaps, Unread
from whysync.facts.kubernetes_api.listing import Query, is_named, pages
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest, Role

Keep = Callable[[Object], bool]
Progress = Callable[[str, int], None]


class Api:
    """`cluster` is the name that live objects get; empty if there is only one cluster."""

    def __init__(
        self, client: Client, kinds: Kinds, *, cluster: str = "", progress: Progress | None = None
    ) -> None:
        self.client = client
        self.kinds = kinds
        self.cluster = cluster
        self.gaps = Gaps(f" on cluster {cluster}" if cluster else "")
        self._progress = progress
        self._connection_error: HttpError | None = None

    async def read(
        self, query: Query, role: Role = Role.LIVE, *, keep: Keep | None = None, quietly: bool = False
    ) -> list[Manifest]:
        """A complete list. A forbidden or aborted request is a gap, unless `quietly`."""
        manifests: list[Manifest] = []
        try:
            await self.read_into(manifests, query, role, keep=keep)
        except Missing:
            pass  # deleted since discovery
        except HttpError as problem:
            if not quietly:
                self.gaps.add_unread(
                    Unread(
                        kind=query.kind, namespace=query.namespace, problem=problem, partly=bool(manifests)
                    )
                )
        return manifests

    async def read_into(
        self, manifests: list[Manifest], query: Query, role: Role = Role.LIVE, *, keep: Keep | None = None
    ) -> None:
        """As `read`, but errors are raised."""
        if self._connection_error is not None:  # otherwise each of a hundred lists would be retried
            raise self._connection_error
        origin, max_objects = query.path, self.client.limits.list_objects
        try:
            async for page in pages(self.client, query):
                for body in page:
                    if keep is None or keep(body):
                        manifests.append(Manifest(body, role=role, origin=origin, cluster=self.cluster))
                if len(manifests) > max_objects:
                    raise TooLarge(what=f"there are more than {max_objects:,} {query.kind.title}")
                if self._progress is not None:
                    self._progress(query.path, self.client.count.bytes)
        except CONNECTION_ERRORS as problem:
            self._connection_error = problem
            raise

    async def get(
        self, kind: Kind, namespace: str, name: str, role: Role = Role.LIVE, *, quietly: bool = False
    ) -> Manifest | None:
        try:
            if self._connection_error is not None:
                raise self._connection_error
            body = await self.object(kind, namespace, name)
        except Missing:
            return None
        except HttpError as problem:
            if isinstance(problem, CONNECTION_ERRORS):
                self._connection_error = problem
            if not quietly:
                self.gaps.add_unread(Unread(kind=kind, namespace=namespace, problem=problem, verb="get"))
            return None
        return Manifest(body, role=role, origin=kind.path(namespace, name), cluster=self.cluster)

    async def object(self, kind: Kind, namespace: str, name: str) -> Object:
        """One object by name; errors are raised."""
        path = kind.path(namespace, name)
        body = await self.client.object(path)
        if not is_named(body):
            raise MalformedResponse(what=f"the response to {path} is not a Kubernetes object", path=path)
        return body
