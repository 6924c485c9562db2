"""The API client of one component: reads, writes and events under its own name.

Objects that a client returns belong to the store: never change them in place. Creations and spec changes go
through the API server with all its checks; a status goes straight to the store, because no admission or
validation stops a controller there.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from whysync.json_tree import Object, dig, fields, same, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource, built_in
from whysync.kubernetes.apiserver.protocol import Answer, Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.storage import Place
from whysync.kubernetes.apiserver.url_paths import UrlPath
from whysync.kubernetes.controllers.event_recorder import EventRecorder
from whysync.kubernetes.controllers.field_ownership import FieldOwnership, whole_claims
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
_JUDGES: Final = (
    ("", "resourcequotas"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
)


class Denied(Exception):
    """The API server said no."""

    def __init__(self, answer: Answer) -> None:
        status = answer.body or {}
        self.code = answer.code
        self.reason = text(status.get("reason"))
        self.message = text(status.get("message")) or answer.text
        super().__init__(self.message)


class Client:
    def __init__(self, api_server: ApiServer, manager: str, index: ObjectIndex | None = None) -> None:
        self.api_server = api_server
        self.manager = manager
        self.index = index or ObjectIndex(api_server.store)
        self._claims = FieldOwnership()
        self._recorder = EventRecorder(api_server.store, api_server.clock, manager)

    @property
    def now(self) -> datetime:
        return self.api_server.clock.now

    def stamp(self) -> str:
        return self.api_server.clock.stamp()

    # -- reading ----------------------------------------------------------------------------------

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        return self.api_server.store.get((kind, namespace, name))

    def again(self, obj: Object) -> Object | None:
        """The same object as it is now; `None` when it is gone, or another under its name."""
        current = self.api_server.store.get(self.place(obj))
        return current if current is not None and uid_of(current) == uid_of(obj) else None

    def list(self, kind: Kind, namespace: str = "") -> list[Object]:
        return self.index.within(kind, namespace)

    def owned(self, kind: Kind, owner: Object) -> list[Object]:
        """Those that the owner controls, by name."""
        return self.index.owned(kind, uid_of(owner))

    def orphans(self, kind: Kind, namespace: str) -> list[Object]:
        """Objects of a kind without a controller, by name."""
        return self.index.orphans(kind, namespace)

    # -- writing ----------------------------------------------------------------------------------

    def create(self, obj: Object) -> Object:
        """Raises `Denied`, as do the others."""
        resource = self._resource(obj)
        path = _collection(resource, text(dig(obj, "metadata", "namespace")))
        return self._sent(Request(verb="create", path=path, body=obj, manager=self.manager))

    def create_again(self, made: Object) -> Object | None:
        """Another of what was just made under a generated name, without all the checks once more.

        `None` where something in the cluster could treat the second one otherwise than the first.
        """
        if any(self.index.any(kind) for kind in _JUDGES) or self.api_server.webhooks:
            return None
        store, meta = self.api_server.store, fields(made.get("metadata"))
        name = text(meta.get("generateName"))[:58] + store.suffix()
        kind, namespace, _ = self.place(made)
        if store.get((kind, namespace, name)) is not None:
            return None
        fresh: Object = {**meta, "name": name, "uid": store.uid()}
        return store.put((kind, namespace, name), {**made, "metadata": fresh})

    def update(self, obj: Object) -> Object:
        return self._sent(Request(verb="update", path=self._path(obj), body=obj, manager=self.manager))

    def delete(self, obj: Object, *, policy: str = "Background", grace: int | None = None) -> None:
        body: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        uid = uid_of(obj)
        if uid:
            body["preconditions"] = {"uid": uid}
        request = Request(verb="delete", path=self._path(obj), body=body, manager=self.manager, grace=grace)
        self._sent(request)

    def update_status(self, obj: Object, status: Object, annotations: Object | None = None) -> Object:
        """Gives back the object as it is then; nothing is written where nothing is new.

        The status is taken as it is: fields that Go always writes must be there. Annotations may come along:
        the door for a status lets them through.
        """
        live = self.again(obj)
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
            managed = self._claims.after(live, status, self.manager, self.stamp(), served)
        else:
            managed = whole_claims(live, new, self.manager, self.stamp(), served)
        if managed:
            meta["managedFields"] = managed
        return self.api_server.store.put(self.place(live), new)

    def event(
        self,
        about: Object,
        type: str,
        reason: str,
        message: str,
        component: str,
        *,
        host: str = "",
        field_path: str = "",
    ) -> None:
        """`about` is what it happened to; `field_path` a part of it, as `spec.containers{web}`."""
        self._recorder.event(about, type, reason, message, component, host=host, field_path=field_path)

    # -- where things are -------------------------------------------------------------------------

    def place(self, obj: Object) -> Place:
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

    def _sent(self, request: Request) -> Object:
        answer = self.api_server.send(request)
        if not answer.ok:
            raise Denied(answer)
        return answer.body or {}


_KINDS: dict[tuple[str, str], Resource] = {}


def _by_kind() -> dict[tuple[str, str], Resource]:
    if not _KINDS:
        _KINDS.update({(resource.api_version, resource.kind): resource for resource in built_in().values()})
    return _KINDS


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


def is_leaving(obj: Object) -> bool:
    return bool(fields(obj.get("metadata")).get("deletionTimestamp"))


def owner_reference(owner: Object) -> Object:
    """As a controller writes it into what it makes."""
    return {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }
