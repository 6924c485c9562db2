"""The API client of one component: reads, writes and events under its own name.

Objects that a client returns belong to the store: never change them in place. Creations and spec changes go
through the API server with admission and validation; a status is written to the store directly, because no
admission or validation stops a controller there.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from whysync.json_tree import Object, dig, fields, items, same, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource, built_in
from whysync.kubernetes.apiserver.protocol import Answer, Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.storage import ObjectKey
from whysync.kubernetes.apiserver.url_paths import UrlPath
from whysync.kubernetes.controllers.event_recorder import EventRecorder
from whysync.kubernetes.controllers.field_ownership import FieldOwnership, managed_fields_after_write
from whysync.kubernetes.controllers.object_index import Kind, ObjectIndex

CONTROLLERS: Final = "kube-controller-manager"
KUBELET: Final = "kubelet"
SCHEDULER: Final = "kube-scheduler"

PODS: Final = ("", "pods")
NODES: Final = ("", "nodes")
NAMESPACES: Final = ("", "namespaces")
SERVICES: Final = ("", "services")
CLAIMS: Final = ("", "persistentvolumeclaims")
DEPLOYMENTS: Final = ("apps", "deployments")
REPLICA_SETS: Final = ("apps", "replicasets")
STATEFUL_SETS: Final = ("apps", "statefulsets")
DAEMON_SETS: Final = ("apps", "daemonsets")
REVISIONS: Final = ("apps", "controllerrevisions")
JOBS: Final = ("batch", "jobs")
CRON_JOBS: Final = ("batch", "cronjobs")
_ADMISSION_KINDS: Final = (
    ("", "resourcequotas"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
)


class StatusError(Exception):
    """An error response of the API server."""

    def __init__(self, answer: Answer) -> None:
        status = answer.body or {}
        self.code = answer.code
        self.reason = text(status.get("reason"))
        self.message = text(status.get("message")) or answer.text
        self._causes = {text(dig(cause, "reason")) for cause in items(dig(status, "details", "causes"))}
        super().__init__(self.message)

    @property
    def is_namespace_terminating(self) -> bool:
        """Mirrors `HasStatusCause(err, NamespaceTerminatingCause)`."""
        return "NamespaceTerminating" in self._causes


class Client:
    def __init__(self, api_server: ApiServer, manager: str, index: ObjectIndex | None = None) -> None:
        self.api_server = api_server
        self.manager = manager
        self.index = index or ObjectIndex(api_server.store)
        self._ownership = FieldOwnership()
        self.event: Final = EventRecorder(api_server.store, api_server.clock, manager).event

    @property
    def now(self) -> datetime:
        return self.api_server.clock.now

    def stamp(self) -> str:
        return self.api_server.clock.stamp()

    # -- reading ----------------------------------------------------------------------------------

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        return self.api_server.store.get((kind, namespace, name))

    def live(self, obj: Object) -> Object | None:
        """The object as it is stored now; `None` if it was deleted, even if the name is in use again."""
        current = self.api_server.store.get(self.object_key(obj))
        return current if current is not None and uid_of(current) == uid_of(obj) else None

    def list(self, kind: Kind, namespace: str = "") -> list[Object]:
        return self.index.within(kind, namespace)

    def owned(self, kind: Kind, owner: Object) -> list[Object]:
        """Objects of a kind that the owner controls, by name."""
        return self.index.owned(kind, uid_of(owner))

    def orphans(self, kind: Kind, namespace: str) -> list[Object]:
        """Objects of a kind without a controller, by name."""
        return self.index.orphans(kind, namespace)

    # -- writing ----------------------------------------------------------------------------------

    def create(self, obj: Object) -> Object:
        """Raises `StatusError`, as do `update` and `delete`."""
        resource = self._resource(obj)
        path = _collection(resource, text(dig(obj, "metadata", "namespace")))
        return self._send(Request(verb="create", path=path, body=obj, manager=self.manager))

    def create_copy(self, created: Object) -> Object | None:
        """Creates a copy of an object that was just created with `generateName`, without further checks.

        `None` if admission could treat the copy differently; then it must be created as usual.
        """
        if any(self.index.any(kind) for kind in _ADMISSION_KINDS) or self.api_server.webhooks:
            return None
        store, meta = self.api_server.store, fields(created.get("metadata"))
        name = text(meta.get("generateName"))[:58] + store.suffix()
        kind, namespace, _ = self.object_key(created)
        if store.get((kind, namespace, name)) is not None:
            return None
        new_meta: Object = {**meta, "name": name, "uid": store.uid()}
        return store.put((kind, namespace, name), {**created, "metadata": new_meta})

    def update(self, obj: Object) -> Object:
        return self._send(Request(verb="update", path=self._path(obj), body=obj, manager=self.manager))

    def delete(self, obj: Object, *, policy: str = "Background", grace: int | None = None) -> None:
        body: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        uid = uid_of(obj)
        if uid:
            body["preconditions"] = {"uid": uid}
        request = Request(verb="delete", path=self._path(obj), body=body, manager=self.manager, grace=grace)
        self._send(request)

    def update_status(self, obj: Object, status: Object, annotations: Object | None = None) -> Object:
        """Writes the status unless it is unchanged; returns the stored object.

        The status is stored as it is: fields that Go always writes must be present. As the `status`
        subresource allows it, annotations may be written along with it.
        """
        live = self.live(obj)
        if live is None:
            return obj
        meta = dict(fields(live.get("metadata")))
        if annotations is not None and annotations == fields(meta.get("annotations")):
            annotations = None
        if annotations is None and same(fields(live.get("status")), status):
            return live
        resource = self._resource(live)
        served = self.api_server.discovery.served(UrlPath(resource.api_version, resource.plural))
        if annotations is not None:
            meta["annotations"] = annotations
        new: Object = {**live, "metadata": meta, "status": status}
        if annotations is None:
            managed = self._ownership.after_status_write(live, status, self.manager, self.stamp(), served)
        else:
            managed = managed_fields_after_write(live, new, self.manager, self.stamp(), served)
        if managed:
            meta["managedFields"] = managed
        return self.api_server.store.put(self.object_key(live), new)

    # -- keys and paths ---------------------------------------------------------------------------

    def object_key(self, obj: Object) -> ObjectKey:
        meta = fields(obj.get("metadata"))
        return (self._resource(obj).store, text(meta.get("namespace")), text(meta.get("name")))

    def _resource(self, obj: Object) -> Resource:
        resource = _by_kind().get((text(obj.get("apiVersion")), text(obj.get("kind"))))
        resource = resource or self.api_server.discovery.of_object(obj)
        assert resource is not None, f"{obj.get('kind')} is not served"
        return resource

    def _path(self, obj: Object) -> str:
        resource = self._resource(obj)
        meta = fields(obj.get("metadata"))
        return f"{_collection(resource, text(meta.get('namespace')))}/{text(meta.get('name'))}"

    def _send(self, request: Request) -> Object:
        answer = self.api_server.send(request)
        if not answer.ok:
            raise StatusError(answer)
        return answer.body or {}


_RESOURCES_BY_KIND: dict[tuple[str, str], Resource] = {}


def _by_kind() -> dict[tuple[str, str], Resource]:
    if not _RESOURCES_BY_KIND:
        _RESOURCES_BY_KIND.update(
            {(resource.api_version, resource.kind): resource for resource in built_in().values()}
        )
    return _RESOURCES_BY_KIND


def _collection(resource: Resource, namespace: str) -> str:
    prefix = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    space = f"/namespaces/{namespace}" if resource.namespaced else ""
    return f"{prefix}{space}/{resource.plural}"


def uid_of(obj: Object) -> str:
    return text(fields(obj.get("metadata")).get("uid"))


def name_of(obj: Object) -> str:
    return text(fields(obj.get("metadata")).get("name"))


def namespace_of(obj: Object) -> str:
    return text(fields(obj.get("metadata")).get("namespace"))


def labels_of(obj: Object) -> Object:
    return fields(fields(obj.get("metadata")).get("labels"))


def annotations_of(obj: Object) -> Object:
    return fields(fields(obj.get("metadata")).get("annotations"))


def is_terminating(obj: Object) -> bool:
    return bool(fields(obj.get("metadata")).get("deletionTimestamp"))


def owner_reference(owner: Object) -> Object:
    """The controller reference for objects that the owner creates. Mirrors `NewControllerRef`."""
    return {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }
