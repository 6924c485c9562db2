"""API discovery: the kinds of a server, in two requests if it supports aggregation, or per group."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from urllib.parse import quote

import msgspec

from whysync.facts.http.client import Client
from whysync.facts.http.errors import CONNECTION_ERRORS, HttpError, MalformedResponse
from whysync.json_tree import Object, fields, items, text

_AGGREGATED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
)
_ACCEPT = f"{_AGGREGATED},application/json"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    can_list: bool = True

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def title(self) -> str:
        """`deployments.apps`, as RBAC and kubectl name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        path = f"{self.root}/namespaces/{_quoted(namespace)}" if namespace and self.namespaced else self.root
        return f"{path}/{self.plural}/{_quoted(name)}" if name else f"{path}/{self.plural}"


class Kinds:
    """The kinds of one server. If a kind has several versions, the preferred one comes first."""

    def __init__(self, kinds: Iterable[Kind], unavailable_groups: Iterable[str] = ()) -> None:
        self._versions: dict[tuple[str, str], list[Kind]] = {}
        for kind in kinds:
            self._versions.setdefault((kind.group, kind.kind), []).append(kind)
        # groups whose server did not respond: their kinds are unknown, not absent
        self.unavailable_groups = tuple(sorted(set(unavailable_groups)))

    def find(self, group: str, kind: str, version: str = "") -> Kind | None:
        """The kind in that version if it is served, otherwise in the preferred one."""
        served = self._versions.get((group, kind), ())
        return next(
            (candidate for candidate in served if candidate.version == version), served[0] if served else None
        )

    def preferred(self) -> Iterator[Kind]:
        return (versions[0] for versions in self._versions.values())

    def of_group(self, group: str) -> Iterator[Kind]:
        return (kind for kind in self.preferred() if kind.group == group)

    def api_versions(self) -> tuple[str, ...]:
        """As Argo CD passes them to Helm: `apps/v1` and `apps/v1/Deployment`."""
        every = [kind for versions in self._versions.values() for kind in versions]
        names = {f"{kind.api_version}/{kind.kind}" for kind in every} | {kind.api_version for kind in every}
        return tuple(sorted(names))

    def __len__(self) -> int:
        return len(self._versions)


async def discover(client: Client) -> Kinds:
    core, groups = await asyncio.gather(
        client.object("/api", accept=_ACCEPT), client.object("/apis", accept=_ACCEPT)
    )
    unavailable_groups: list[str] = []
    kinds = [
        *await _kinds(client, core, unavailable_groups),
        *await _kinds(client, groups, unavailable_groups),
    ]
    return Kinds(kinds, unavailable_groups)


async def _kinds(client: Client, response: Object, unavailable_groups: list[str]) -> list[Kind]:
    if text(response.get("kind")) == "APIGroupDiscoveryList":
        return [
            kind
            for group in items(response.get("items"))
            for kind in _aggregated_kinds(fields(group), unavailable_groups)
        ]
    if "versions" in response:  # /api of a server before 1.26
        versions = [text(version) for version in items(response.get("versions"))]
        return await _discover_each(client, [("", version) for version in versions], unavailable_groups)
    if "groups" not in response:
        raise MalformedResponse(
            what=f"{client.name} does not respond like a Kubernetes API server",
            why="its response has no API groups",
            next="check the server's address in the kubeconfig",
        )
    group_versions: list[tuple[str, str]] = []
    for raw in items(response.get("groups")):
        group = fields(raw)
        name = text(group.get("name"))
        preferred = text(fields(group.get("preferredVersion")).get("version"))
        served = [text(fields(version).get("version")) for version in items(group.get("versions"))]
        group_versions += [
            (name, version) for version in sorted(served, key=lambda candidate: candidate != preferred)
        ]
    return await _discover_each(client, group_versions, unavailable_groups)


def _aggregated_kinds(group: Object, unavailable_groups: list[str]) -> Iterator[Kind]:
    name = text(fields(group.get("metadata")).get("name"))
    for raw in items(group.get("versions")):
        version = fields(raw)
        if text(version.get("freshness")) == "Stale":
            unavailable_groups.append(name)
        for entry in items(version.get("resources")):
            resource = fields(entry)
            kind = text(fields(resource.get("responseKind")).get("kind"))
            if kind:
                yield Kind(
                    group=name,
                    version=text(version.get("version")),
                    kind=kind,
                    plural=text(resource.get("resource")),
                    namespaced=text(resource.get("scope")) == "Namespaced",
                    can_list="list" in items(resource.get("verbs")),
                )


async def _discover_each(
    client: Client, group_versions: list[tuple[str, str]], unavailable_groups: list[str]
) -> list[Kind]:
    async def discover_version(group: str, version: str) -> list[Kind]:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            response = await client.object(path)
        except CONNECTION_ERRORS:
            raise
        except HttpError:
            unavailable_groups.append(group)
            return []
        return list(_kinds_of_version(response, group, version))

    max_requests = client.limits.discovery_requests
    if len(group_versions) > max_requests:
        raise MalformedResponse(
            what=f"{client.name} lists {len(group_versions):,} API versions",
            why=f"the limit is {max_requests:,}",
            next="check the server's address in the kubeconfig",
        )
    responses = await asyncio.gather(*(discover_version(group, version) for group, version in group_versions))
    return [kind for kinds in responses for kind in kinds]


def _kinds_of_version(response: Object, group: str, version: str) -> Iterator[Kind]:
    for raw in items(response.get("resources")):
        resource = fields(raw)
        plural = text(resource.get("name"))
        if plural and "/" not in plural:
            yield Kind(
                group=group,
                version=version,
                kind=text(resource.get("kind")),
                plural=plural,
                namespaced=resource.get("namespaced") is True,
                can_list="list" in items(resource.get("verbs")),
            )


def _quoted(name: str) -> str:
    return quote(name, safe=":")
