"""What the Applications of a checkout need from each other: who still uses an object, and who creates it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.argocd.app_controller.destination import IN_CLUSTER
from whysync.argocd.compare.kind_scopes import is_cluster_scoped_kind
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key, Ref
from whysync.plan.changes import key_of
from whysync.plan.find_applications import qualified
from whysync.plan.plan import Change, ChangeKind
from whysync.proofs.partial_objects import is_built_in_group
from whysync.queries.references import references_of

_Target = tuple[str, str, str, str]
"""Cluster, kind, namespace and name."""
_MAX_USERS: Final = 2
_CREATED: Final = frozenset({"Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim", "Namespace"})


class AllApplications(msgspec.Struct):
    """The rendered objects of all Applications of the head, as far as others may need them."""

    _objects: dict[str, dict[str, list[Object]]] = msgspec.field(
        default_factory=dict[str, dict[str, list[Object]]]
    )
    """By cluster and Application."""
    _users: dict[_Target, list[Ref]] = msgspec.field(default_factory=dict[_Target, list[Ref]])
    _owners: dict[tuple[str, Key], list[str]] = msgspec.field(
        default_factory=dict[tuple[str, Key], list[str]]
    )
    """The Applications that declare an object, by cluster."""
    hidden_folders: set[str] = msgspec.field(default_factory=set[str])
    """Folders of sources that cannot be rendered here: which of their objects are deployed is not known."""

    def add(self, application: Object, objects: Iterable[Object]) -> None:
        """Add the rendered objects of an Application."""
        cluster, namespace = destination_cluster(application), _namespace(application)
        shared = self._objects.setdefault(cluster, {}).setdefault(qualified(application), [])
        for obj in objects:
            key = key_of(obj, namespace)
            self._owners.setdefault((cluster, key), []).append(text(dig(application, "metadata", "name")))
            if key.kind in _CREATED or not is_built_in_group(key.group):
                meta: Object = {"name": key.name, "namespace": key.namespace}
                shared.append({**obj, "metadata": meta})
            user = replace(Manifest(obj, role=Role.DESIRED).ref, namespace=key.namespace)
            for kind, name in _needed_by(obj):
                space = "" if is_cluster_scoped_kind(kind) else key.namespace
                users = self._users.setdefault((cluster, kind, space, name), [])
                if user not in users:
                    users.append(user)

    def others(self, application: Object) -> list[Object]:
        """What other Applications create in that cluster: objects that pods refer to, custom resources."""
        own = qualified(application)
        by_name = self._objects.get(destination_cluster(application), {})
        return [obj for name, objects in by_name.items() if name != own for obj in objects]

    def with_users(self, application: Object, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """The changes of an Application; the risk of what it deletes names who still uses or declares it."""
        cluster = destination_cluster(application)
        return tuple(
            self._with_users(cluster, self._with_new_owner(cluster, change))
            if change.sort is ChangeKind.PRUNE
            else change
            for change in changes
        )

    def _with_new_owner(self, cluster: str, change: Change) -> Change:
        """An object that moves to another Application is deleted if the old one is synced first."""
        owners = self._owners.get((cluster, change.ref.key), [])
        if not owners:
            return change
        lost = f"{change.risk}, " if change.risk else ""
        return replace(change, risk=f"{lost}unless {owners[0]}, which declares it too, is synced first")

    def _with_users(self, cluster: str, change: Change) -> Change:
        users = self._users.get((cluster, change.ref.kind, change.ref.namespace, change.ref.name), [])
        if not users:
            return change
        names = " and ".join(f"{user.kind} {user.name}" for user in users[:_MAX_USERS])
        more = f" and {len(users) - _MAX_USERS} more" if len(users) > _MAX_USERS else ""
        verb = "use" if len(users) > 1 else "uses"
        return replace(change, risk=f"{names}{more} still {verb} it", is_harmful=True, users=tuple(users))


def _needed_by(obj: Object) -> Iterator[tuple[str, str]]:
    """Kind and name of the objects that it needs: in its own namespace, or without one."""
    for reference in references_of(Manifest(obj, role=Role.DESIRED)):
        yield reference.kind, reference.name
    match text(obj.get("kind")):
        case "Ingress":
            spec = fields(obj.get("spec"))
            paths = [
                fields(path)
                for rule in items(spec.get("rules"))
                for path in items(dig(rule, "http", "paths"))
            ]
            backends = [dig(path, "backend", "service", "name") for path in paths]
            for backend in (dig(spec, "defaultBackend", "service", "name"), *backends):
                if text(backend):
                    yield "Service", text(backend)
            for tls in items(spec.get("tls")):
                if text(dig(tls, "secretName")):
                    yield "Secret", text(dig(tls, "secretName"))
        case "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute":
            for rule in items(dig(obj, "spec", "rules")):
                for backend in map(fields, items(dig(rule, "backendRefs"))):
                    if not backend.get("namespace") and backend.get("kind", "Service") == "Service":
                        yield "Service", text(backend.get("name"))
        case "RoleBinding" | "ClusterRoleBinding":
            yield text(dig(obj, "roleRef", "kind")), text(dig(obj, "roleRef", "name"))
        case "StatefulSet":
            if text(dig(obj, "spec", "serviceName")):
                yield "Service", text(dig(obj, "spec", "serviceName"))
        case _:
            return


def destination_cluster(application: Object) -> str:
    destination = fields(dig(application, "spec", "destination"))
    name = text(destination.get("name"))
    return text(destination.get("server")) or (IN_CLUSTER if name == "in-cluster" else name)


def _namespace(application: Object) -> str:
    return text(dig(application, "spec", "destination", "namespace"))
