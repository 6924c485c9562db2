"""The API client of one component: reads, writes and events under its own name.

Objects that a client returns belong to the store: never change them in place. Creations and spec changes go
through the API server with admission and validation; a status is written to the store directly, because no
admission or validation stops a controller there.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from whysync.json_tree import Json, Object, dig, fields, items, same, text
from whysync.kubernetes.apiserver.builtin_kinds import Resource, built_in
from whysync.kubernetes.apiserver.protocol import Answer, Request
from whysync.kubernetes.apiserver.request import UrlPath
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.storage import ObjectKey, Store
from whysync.kubernetes.clock import Clock
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


# EventRecorder: counts repeated events, aggregates similar ones and drops spam.
#
# Mirrors client-go `record.EventCorrelator`, Kubernetes 1.36: ten events within ten minutes that differ
# only in their message are aggregated; per source, type and object at most 25 events are written, plus one
# every five minutes. The resourceVersion of the involved object is ignored when events are compared.


_EVENTS: Final = ("", "events")
_MAX_SIMILAR_EVENTS: Final = 10
_SIMILAR_INTERVAL_SECONDS: Final = 600
_BURST: Final = 25
_REFILL_SECONDS: Final = 300
_OWNED_FIELDS: Final[Object] = {
    "f:count": {},
    "f:firstTimestamp": {},
    "f:involvedObject": {},
    "f:lastTimestamp": {},
    "f:message": {},
    "f:reason": {},
    "f:reportingComponent": {},
    "f:source": {"f:component": {}},
    "f:type": {},
}
_OBJECT_FIELDS: Final = ("kind", "namespace", "name", "uid", "apiVersion")
_Key = tuple[str, ...]


class _AggregateRecord(msgspec.Struct):
    """Events that differ only in their message."""

    messages: set[str] = msgspec.field(default_factory=set[str])
    last: datetime | None = None


class _RecordedEvent(msgspec.Struct):
    """An event and its count, which includes occurrences that the spam filter dropped."""

    name: str
    count: int = 0


class _Bucket(msgspec.Struct):
    tokens: float
    filled: datetime


class EventRecorder:
    """Records the events of one component. `manager` owns the fields of its events."""

    def __init__(self, store: Store, clock: Clock, manager: str) -> None:
        self._store = store
        self._clock = clock
        self._manager = manager
        self._events: dict[_Key, _RecordedEvent] = {}
        self._groups: dict[_Key, _AggregateRecord] = {}
        self._buckets: dict[_Key, _Bucket] = {}
        self._last: tuple[datetime | None, int] = (None, 0)

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
        """`about` is the involved object; `field_path` is a part of it, such as `spec.containers{web}`."""
        involved = _reference(about, field_path)
        namespace = text(involved.get("namespace")) or "default"
        namespace_object = self._store.get((("", "namespaces"), "", namespace))
        if namespace_object is None:
            return
        source = (component, host, *(text(involved.get(key)) for key in _OBJECT_FIELDS))
        aggregate_key = (*source, type, reason)
        key, message = self._aggregate(aggregate_key, field_path, message)
        recorded = self._events.setdefault(key, _RecordedEvent(""))
        recorded.count += 1
        if not self._passes_spam_filter((*source, type)):
            return
        existing = self._store.get((_EVENTS, namespace, recorded.name)) if recorded.name else None
        if existing is not None:
            self._update_event(existing, message, recorded.count)
        elif not dig(namespace_object, "metadata", "deletionTimestamp"):
            event = self._new_event(involved, (type, reason, message), component, host)
            event["count"] = recorded.count
            recorded.name = text(dig(event, "metadata", "name"))
            self._store.put((_EVENTS, namespace, recorded.name), event)

    def _aggregate(self, aggregate_key: _Key, field_path: str, message: str) -> tuple[_Key, str]:
        group = self._groups.setdefault(aggregate_key, _AggregateRecord())
        now = self._clock.now
        if group.last is not None and (now - group.last).total_seconds() > _SIMILAR_INTERVAL_SECONDS:
            group.messages.clear()
        group.last = now
        group.messages.add(message)
        if len(group.messages) < _MAX_SIMILAR_EVENTS:
            return (*aggregate_key, field_path, message), message
        group.messages.discard(message)  # upstream removes an arbitrary one
        return aggregate_key, f"(combined from similar events): {message}"

    def _passes_spam_filter(self, source: _Key) -> bool:
        now = self._clock.now
        bucket = self._buckets.get(source)
        if bucket is None:
            bucket = self._buckets[source] = _Bucket(_BURST, now)
        elapsed = (now - bucket.filled).total_seconds()
        bucket.tokens = min(_BURST, bucket.tokens + elapsed / _REFILL_SECONDS)
        bucket.filled = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _update_event(self, event: Object, message: str, count: int) -> None:
        object_key = (
            _EVENTS,
            text(dig(event, "metadata", "namespace")),
            text(dig(event, "metadata", "name")),
        )
        changes: Object = {
            "message": message,
            "count": count,
            "lastTimestamp": self._clock.stamp(),
        }
        self._store.put(object_key, {**event, **changes})

    def _new_event(self, involved: Object, event: tuple[str, str, str], component: str, host: str) -> Object:
        type, reason, message = event
        now = self._clock.stamp()
        name = f"{text(involved.get('name'))}.{self._nanoseconds():x}"
        source: Object = {"component": component}
        if host:
            source["host"] = host
        entry: Json = {
            "manager": self._manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": _owned_fields_with_host() if host else _OWNED_FIELDS,
        }
        meta: Object = {
            "name": name,
            "namespace": text(involved.get("namespace")) or "default",
            "uid": self._store.uid(),
            "creationTimestamp": now,
            "managedFields": [entry],
        }
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": meta,
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": type,
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": host,
        }

    def _nanoseconds(self) -> int:
        """The time in nanoseconds; a serial number replaces the digits that the clock does not have."""
        now = self._clock.now
        if self._last[0] is not now:
            self._last = (now, int(now.astimezone(UTC).timestamp() * 1_000_000) * 1000)
        return self._last[1] + self._store.serial()


def _owned_fields_with_host() -> Object:
    source: Object = {"f:component": {}, "f:host": {}}
    return {**_OWNED_FIELDS, "f:reportingInstance": {}, "f:source": source}


def _reference(about: Object, field_path: str) -> Object:
    meta = fields(about.get("metadata"))
    reference: Object = {
        "kind": about.get("kind"),
        "namespace": meta.get("namespace"),
        "name": meta.get("name"),
        "uid": meta.get("uid"),
        "apiVersion": about.get("apiVersion"),
        "resourceVersion": meta.get("resourceVersion"),
    }
    if field_path:
        reference["fieldPath"] = field_path
    return {key: value for key, value in reference.items() if value is not None}
