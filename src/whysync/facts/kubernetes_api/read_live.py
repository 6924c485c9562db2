"""Read live objects and Events of one cluster: one list per kind, per namespace or for all."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Iterable, Iterator
from typing import Final

import msgspec

from whysync.facts.http.errors import Forbidden, HttpError
from whysync.facts.kubernetes_api.api import Api, Keep
from whysync.facts.kubernetes_api.discovery import Kind
from whysync.facts.kubernetes_api.gaps import Unread
from whysync.facts.kubernetes_api.kinds_to_read import (
    CLUSTER_WIDE_KINDS,
    MUTATING_POLICY_KINDS,
    Scope,
    cluster_scoped_resources,
    crd_names,
    namespaced_kinds,
    referenced_objects,
)
from whysync.facts.kubernetes_api.listing import Query
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key, group_of

# With more namespaces than this, a kind is listed once for all of them.
FEW_NAMESPACES = 6
# If that is forbidden, this many namespaces are listed one by one.
_MAX_NAMESPACES = 50
# Cluster-scoped resources of a kind: up to this many by name, more with a list.
_FEW_NAMES = 30
_MAX_OWNERS = 30
_MAX_REMAINING = 10
_MAX_EVENTS = 20_000
_CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
# Each contains a packed chart with all its values and does not describe live objects.
_NOT_HELM = "type!=helm.sh/release.v1"


_RBAC: Final = "rbac.authorization.k8s.io"
_GROUPS_OF_ALL: Final = ("system:authenticated", "system:serviceaccounts")
_REFUSED_ACCOUNT: Final = re.compile(r'User "([^"]{1,300})" cannot ')


class Live(msgspec.Struct, frozen=True, kw_only=True):
    objects: tuple[Manifest, ...] = ()
    events: tuple[Manifest, ...] = ()


_WEBHOOK_BACKEND_KINDS: Final = (
    ("", "Pod"),
    ("", "Service"),
    ("apps", "Deployment"),
    ("discovery.k8s.io", "EndpointSlice"),
)


async def read_live(api: Api, scope: Scope, *, extra_namespaces: frozenset[str] = frozenset()) -> Live:
    """`extra_namespaces`: where Argo CD's own Pods are, if it seems to have problems itself."""
    if scope.is_empty:
        return Live()
    reader = _Reader(api, scope)
    namespaced, cluster_wide, namespaces, resources, crds, events = await asyncio.gather(
        reader.namespaced(scope.namespaces),
        reader.cluster_wide(),
        reader.namespace_objects(),
        reader.cluster_scoped_resources(),
        reader.crds(),
        reader.events(scope.namespaces),
    )
    manifests = [*namespaced, *cluster_wide, *namespaces, *resources, *crds]
    manifests += await reader.follow_ups(manifests)
    other_namespaces = (
        extra_namespaces | _webhook_namespaces(manifests, scope.error_text)
    ) - scope.namespaces
    if other_namespaces:
        more, more_events = await asyncio.gather(
            reader.webhook_backends(other_namespaces), reader.events(other_namespaces)
        )
        manifests, events = [*manifests, *more], [*events, *more_events]
    for group in api.kinds.unavailable_groups:
        if any(resource.group == group for resource in scope.resources):
            api.gaps.add(
                Gap(
                    kind=GapKind.UNREACHABLE,
                    what=f"the kinds of API group {group}",
                    why="its aggregated API server does not respond",
                    how_to_get="kubectl get apiservices",
                )
            )
    return Live(objects=tuple(_unique(manifests)), events=tuple(_unique(events)))


class _Reader:
    def __init__(self, api: Api, scope: Scope) -> None:
        self._api = api
        self._scope = scope

    async def namespaced(self, namespaces: frozenset[str]) -> list[Manifest]:
        kinds = namespaced_kinds(self._scope, self._api.kinds)
        return await self._all(self._of_kind(kind, namespaces) for kind in kinds)

    async def webhook_backends(self, namespaces: frozenset[str]) -> list[Manifest]:
        """The backend of a webhook: a Service, its Pods, and the Deployment, which may be scaled to zero."""
        kinds = (self._api.kinds.find(*group_kind) for group_kind in _WEBHOOK_BACKEND_KINDS)
        return await self._all(self._of_kind(kind, namespaces) for kind in kinds if kind is not None)

    async def events(self, namespaces: frozenset[str]) -> list[Manifest]:
        """Events; for many namespaces only warnings, because the objects show the rest."""
        kind = self._api.kinds.find("", "Event")
        if kind is None or not namespaces:
            return []
        matching = "type!=Normal" if len(namespaces) > FEW_NAMESPACES else ""
        events = await self._of_kind(kind, namespaces, role=Role.EVENT, matching=matching)
        events.sort(key=_timestamp, reverse=True)
        return events[:_MAX_EVENTS]

    async def _of_kind(
        self, kind: Kind, namespaces: frozenset[str], *, role: Role = Role.LIVE, matching: str = ""
    ) -> list[Manifest]:
        if kind.kind == "Secret" and not kind.group:
            matching = _NOT_HELM
        names = sorted(namespaces)
        if len(names) > FEW_NAMESPACES:
            manifests: list[Manifest] = []
            try:
                query = Query(kind=kind, matching=matching)
                await self._api.read_into(manifests, query, role, keep=_within(namespaces))
            except Forbidden as problem:
                if len(names) > _MAX_NAMESPACES:
                    for name in names[_MAX_NAMESPACES:]:
                        self._api.gaps.add_unread(Unread(kind=kind, namespace=name, problem=problem))
                names = names[:_MAX_NAMESPACES]
            except HttpError as problem:
                for name in names:
                    unread = Unread(kind=kind, namespace=name, problem=problem, partly=bool(manifests))
                    self._api.gaps.add_unread(unread)
                return manifests
            else:
                return manifests
        queries = (Query(kind=kind, namespace=name, matching=matching) for name in names)
        return await self._all(self._api.read(query, role) for query in queries)

    async def cluster_wide(self) -> list[Manifest]:
        """Cluster-wide objects, also optional ones such as policies if discovery lists them."""
        kinds = (self._api.kinds.find(*group_kind) for group_kind in CLUSTER_WIDE_KINDS)
        return await self._all(self._api.read(Query(kind=kind)) for kind in kinds if kind is not None)

    async def namespace_objects(self) -> list[Manifest]:
        kind = self._api.kinds.find("", "Namespace")
        names = sorted(self._scope.namespaces)
        return await self._by_name(kind, names) if kind is not None else []

    async def cluster_scoped_resources(self) -> list[Manifest]:
        resources = cluster_scoped_resources(self._scope, self._api.kinds).values()
        return await self._all(
            self._by_name(kind, names) for kind, names in resources if kind.kind != "Namespace"
        )

    async def crds(self) -> list[Manifest]:
        """The CRDs of the resources; for a kind that is not served, all CRDs of its group."""
        kind = self._api.kinds.find(*_CRD)
        if kind is None:
            return []
        names, groups = crd_names(self._scope, self._api.kinds)
        crds = await self._by_name(kind, names, always_by_name=True)
        if groups:
            query = Query(kind=kind)
            crds += await self._api.read(query, keep=lambda body: _group_of_crd(body) in groups)
        return crds

    async def _by_name(self, kind: Kind, names: list[str], *, always_by_name: bool = False) -> list[Manifest]:
        if len(names) > _FEW_NAMES and not always_by_name:
            selected = frozenset(names)
            return await self._api.read(Query(kind=kind), keep=lambda body: _name(body) in selected)
        manifests_read = await asyncio.gather(*(self._api.get(kind, "", name) for name in names))
        return [manifest for manifest in manifests_read if manifest is not None]

    async def follow_ups(self, manifests: list[Manifest]) -> list[Manifest]:
        """Objects that are only needed because of what was found: Nodes for unschedulable Pods, volumes,
        owners.
        """
        requested: list[tuple[str, str]] = []
        if any(_is_unscheduled(manifest) for manifest in manifests if manifest.ref.kind == "Pod"):
            requested.append(("", "Node"))
        if any(
            _is_unbound(manifest) for manifest in manifests if manifest.ref.kind == "PersistentVolumeClaim"
        ):
            requested.append(("", "PersistentVolume"))
        if any(_has_no_address(manifest) for manifest in manifests if manifest.ref.kind == "Ingress"):
            requested.append(("networking.k8s.io", "IngressClass"))
        kinds = (self._api.kinds.find(*name) for name in requested)
        lists = await self._all(self._api.read(Query(kind=kind)) for kind in kinds if kind is not None)
        more = [*await self._revisions(manifests), *await self._owners(manifests)]
        more += await self._volumes(manifests)
        more += await self._attachments(manifests)
        more += await self._referenced(manifests)
        more += await self._mutating_policies()
        return [*lists, *more, *await self._blocking_deletion(manifests), *await self._rights()]

    async def _volumes(self, manifests: list[Manifest]) -> list[Manifest]:
        """The volumes of claims that a sync may delete: their reclaim policy decides about the data."""
        kind = self._api.kinds.find("", "PersistentVolume")
        names = {
            text(manifest.spec.get("volumeName"))
            for manifest in manifests
            if manifest.ref.kind == "PersistentVolumeClaim" and manifest.key in self._scope.prunable
        }
        return await self._by_name(kind, sorted(names - {""})) if kind is not None else []

    async def _attachments(self, manifests: list[Manifest]) -> list[Manifest]:
        """The attachments of bound volumes, in namespaces where a Pod on a node waits to start."""
        kind = self._api.kinds.find("storage.k8s.io", "VolumeAttachment")
        waiting = {manifest.ref.namespace for manifest in manifests if _waits_on_node(manifest)}
        volumes = {
            text(manifest.spec.get("volumeName"))
            for manifest in manifests
            if manifest.ref.kind == "PersistentVolumeClaim" and manifest.ref.namespace in waiting
        } - {""}
        if kind is None or not volumes:
            return []
        return await self._api.read(
            Query(kind=kind),
            keep=lambda body: text(dig(body, "spec", "source", "persistentVolumeName")) in volumes,
            quietly=True,
        )

    async def _referenced(self, manifests: list[Manifest]) -> list[Manifest]:
        """Cluster-scoped objects that custom resources name; why these wait is often reported there."""
        known = {(manifest.ref.group, manifest.ref.kind, manifest.ref.name) for manifest in manifests}
        found = referenced_objects(self._scope, self._api.kinds, manifests)
        requested = sorted(id for id in found if id not in known)[:_MAX_OWNERS]
        read = await asyncio.gather(*(self._api.get(found[id], "", id[2], quietly=True) for id in requested))
        return [manifest for manifest in read if manifest is not None]

    async def _mutating_policies(self) -> list[Manifest]:
        if not self._scope.namespaces_with_problems:
            return []
        kinds = (self._api.kinds.find(*group_kind) for group_kind in MUTATING_POLICY_KINDS)
        return await self._all(
            self._api.read(Query(kind=kind), quietly=True) for kind in kinds if kind is not None
        )

    async def _rights(self) -> list[Manifest]:
        """Roles and bindings of accounts that Kubernetes RBAC refused something."""
        accounts = frozenset(_REFUSED_ACCOUNT.findall(self._scope.error_text))
        if not accounts:
            return []
        queries: list[Query] = []
        if kind := self._api.kinds.find(_RBAC, "ClusterRoleBinding"):
            queries.append(Query(kind=kind))
        if kind := self._api.kinds.find(_RBAC, "RoleBinding"):
            namespaces = sorted(self._scope.namespaces)[:_MAX_NAMESPACES]
            queries += [Query(kind=kind, namespace=namespace) for namespace in namespaces]
        bindings = await self._all(
            self._api.read(query, keep=lambda body: is_bound(body, accounts)) for query in queries
        )
        names = {
            (role, "" if role == "ClusterRole" else binding.ref.namespace, text(reference.get("name")))
            for binding in bindings
            if (role := text((reference := fields(binding.body.get("roleRef"))).get("kind")))
        }
        kinds = ((self._api.kinds.find(_RBAC, role), space, name) for role, space, name in sorted(names))
        roles = await asyncio.gather(
            *(self._api.get(kind, space, name) for kind, space, name in kinds if kind)
        )
        return [*bindings, *(role for role in roles if role is not None)]

    async def _revisions(self, manifests: list[Manifest]) -> list[Manifest]:
        """Previous revisions of StatefulSets with an unfinished rollout: the template to roll back to."""
        kind = self._api.kinds.find("apps", "ControllerRevision")
        rolling_out = [
            manifest
            for manifest in manifests
            if manifest.ref.kind == "StatefulSet" and _is_rolling_out(manifest)
        ]
        if kind is None:
            return []
        requested = [
            (manifest.ref.namespace, text(manifest.status.get("currentRevision"))) for manifest in rolling_out
        ]
        manifests_read = await asyncio.gather(
            *(self._api.get(kind, *name, quietly=True) for name in requested[:_MAX_OWNERS])
        )
        return [manifest for manifest in manifests_read if manifest is not None]

    async def _blocking_deletion(self, manifests: list[Manifest]) -> list[Manifest]:
        """Objects that keep a namespace from terminating, of the kinds that its conditions name; and their
        CRDs.
        """
        requested: dict[tuple[str, str], Kind] = {}
        for manifest in manifests:
            if manifest.ref.kind == "Namespace" and manifest.meta.get("deletionTimestamp"):
                titles = _remaining_kinds(manifest)
                for kind in self._api.kinds.preferred() if titles else ():
                    if kind.namespaced and kind.can_list and kind.title in titles:
                        requested[manifest.ref.name, kind.title] = kind
        selected_kinds = list(requested.items())[:_MAX_REMAINING]
        objects = await self._all(
            self._api.read(Query(kind=kind, namespace=namespace)) for (namespace, _), kind in selected_kinds
        )
        crd = self._api.kinds.find(*_CRD)
        names = sorted({kind.title for _, kind in selected_kinds if "." in kind.group})
        return [*objects, *(await self._by_name(crd, names, always_by_name=True) if crd and objects else [])]

    async def _owners(self, manifests: list[Manifest]) -> list[Manifest]:
        """Owners of resources that were not read yet: objects of an operator."""
        keys = {manifest.key for manifest in manifests}
        selected: dict[Key, None] = {}
        for manifest in manifests:
            if manifest.key not in self._scope.resources:
                continue
            for raw in items(manifest.meta.get("ownerReferences")):
                owner = fields(raw)
                kind = self._api.kinds.find(group_of(text(owner.get("apiVersion"))), text(owner.get("kind")))
                if kind is None:
                    continue
                namespace = manifest.ref.namespace if kind.namespaced else ""
                key = Key(kind.group, kind.kind, namespace, text(owner.get("name")))
                if key not in keys:
                    selected[key] = None
        manifests_read: list[Manifest] = []
        for key in list(selected)[:_MAX_OWNERS]:
            kind = self._api.kinds.find(key.group, key.kind)
            if kind is not None:
                owner = await self._api.get(kind, key.namespace, key.name, quietly=True)
                manifests_read += [owner] if owner is not None else []
        return manifests_read

    async def _all(self, requested: Iterable[Awaitable[list[Manifest]]]) -> list[Manifest]:
        lists = await asyncio.gather(*requested)
        return [manifest for manifests in lists for manifest in manifests]


def _remaining_kinds(namespace: Manifest) -> frozenset[str]:
    """Parse `Some resources are remaining: widgets.example.com has 1 resource instances, pods. has 2 …`"""
    messages = [
        text(fields(condition).get("message")) for condition in items(namespace.status.get("conditions"))
    ]
    return frozenset(
        resource.rstrip(".")
        for message in messages
        if message.startswith("Some resources are remaining: ")
        for resource in (part.split(" ", 1)[0] for part in message.partition(": ")[2].split(", "))
    )


def _within(namespaces: frozenset[str]) -> Keep:
    return lambda body: text(fields(body.get("metadata")).get("namespace")) in namespaces


def _name(body: Object) -> str:
    return text(fields(body.get("metadata")).get("name"))


def _group_of_crd(body: Object) -> str:
    return text(fields(body.get("spec")).get("group"))


def _is_unscheduled(pod: Manifest) -> bool:
    return pod.status.get("phase") == "Pending" and not pod.spec.get("nodeName")


def _waits_on_node(manifest: Manifest) -> bool:
    pending = manifest.ref.kind == "Pod" and manifest.status.get("phase") == "Pending"
    return pending and bool(manifest.spec.get("nodeName"))


def _is_unbound(claim: Manifest) -> bool:
    return claim.status.get("phase") != "Bound"


def _is_rolling_out(workload: Manifest) -> bool:
    current, new = (text(workload.status.get(name)) for name in ("currentRevision", "updateRevision"))
    return bool(current) and current != new


def _has_no_address(ingress: Manifest) -> bool:
    return not items(dig(ingress.body, "status", "loadBalancer", "ingress"))


def _timestamp(event: Manifest) -> str:
    """As text: RFC 3339 in UTC sorts correctly."""
    body = event.body
    return text(body.get("lastTimestamp")) or text(body.get("eventTime")) or text(body.get("firstTimestamp"))


def is_bound(binding: Object, accounts: frozenset[str]) -> bool:
    """Does the binding give rights to one of the accounts, or to a group that all of them are in?"""
    for subject in map(fields, items(binding.get("subjects"))):
        kind, name, namespace = (text(subject.get(key)) for key in ("kind", "name", "namespace"))
        account = f"system:serviceaccount:{namespace}:{name}" if kind == "ServiceAccount" else name
        if account in accounts or (kind == "Group" and name in _GROUPS_OF_ALL):
            return True
        if kind == "Group" and name.startswith("system:serviceaccounts:"):
            space = name.removeprefix("system:serviceaccounts:")
            if any(account.startswith(f"system:serviceaccount:{space}:") for account in accounts):
                return True
    return False


def _webhook_namespaces(manifests: Iterable[Manifest], error_text: str) -> frozenset[str]:
    """Namespaces of the Services of webhooks that Argo CD's messages name."""
    if "webhook" not in error_text:
        return frozenset()
    requested = (match[1] for match in re.finditer(r"https://[a-z0-9-]+\.([a-z0-9-]+)\.svc\b", error_text))
    return frozenset((*_services_named(manifests, error_text), *requested))


def _services_named(manifests: Iterable[Manifest], error_text: str) -> Iterator[str]:
    for manifest in manifests:
        if manifest.ref.kind.endswith("WebhookConfiguration"):
            for raw in items(manifest.body.get("webhooks")):
                hook = fields(raw)
                namespace = text(dig(hook, "clientConfig", "service", "namespace"))
                if namespace and text(hook.get("name")) in error_text:
                    yield namespace
        elif manifest.ref.kind == "CustomResourceDefinition":
            namespace = text(
                dig(manifest.spec, "conversion", "webhook", "clientConfig", "service", "namespace")
            )
            if namespace and "conversion webhook" in error_text:
                yield namespace


def _unique(manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    """Each object once: a Deployment that was listed in two versions is one."""
    seen: set[Key] = set()
    for manifest in manifests:
        if manifest.key not in seen:
            seen.add(manifest.key)
            yield manifest
