"""The API server in memory: routes requests to their handlers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.admission.webhooks import Webhook
from whysync.kubernetes.apiserver.custom_resources import established
from whysync.kubernetes.apiserver.decoding import BadBody
from whysync.kubernetes.apiserver.deletion import DeleteHandler
from whysync.kubernetes.apiserver.discovery import Discovery
from whysync.kubernetes.apiserver.garbage_collection import GarbageCollection
from whysync.kubernetes.apiserver.get_and_list import ReadHandlers
from whysync.kubernetes.apiserver.handlers import WriteHandlers
from whysync.kubernetes.apiserver.protocol import Answer, Request, ServedKind
from whysync.kubernetes.apiserver.rbac_authorizer import (
    check_access,
    forbidden_before_lookup,
    forbidden_path,
    known_user,
)
from whysync.kubernetes.apiserver.request import (
    Reply,
    RequestContext,
    check_method,
    parse_url_path,
    with_effective_verb,
)
from whysync.kubernetes.apiserver.request_body import MAX_REQUEST_BYTES, is_request_too_large
from whysync.kubernetes.apiserver.resource_kind import Served
from whysync.kubernetes.apiserver.status_errors import (
    NoSuchPath,
    Refused,
    bad_request,
    internal,
    method_not_allowed,
    no_such_resource,
)
from whysync.kubernetes.apiserver.storage import ObjectKey, Store, owners_of, uid_of
from whysync.kubernetes.clock import Clock

_UNMODELED_SUBRESOURCES = {
    "pods": (
        "attach",
        "binding",
        "ephemeralcontainers",
        "eviction",
        "exec",
        "log",
        "portforward",
        "proxy",
        "resize",
    ),
    "services": ("proxy",),
    "nodes": ("proxy",),
    "serviceaccounts": ("token",),
}  # fmt: skip
"""Subresources that exist but cannot be used here."""


def _has(served: Served, subresource: str) -> bool:
    resource = served.resource
    return {"status": resource.status, "scale": resource.scale}.get(subresource, False)


class ApiServer:
    """A cluster in memory. `clock` is its only source of time; nothing happens between requests."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.store = Store()
        self.discovery = Discovery(self.store)
        self._writes = WriteHandlers(self.store, self.discovery, self.clock)
        self._reads = ReadHandlers(self.store, self.discovery)
        self._deletes = DeleteHandler(self.store, self.clock)
        self.webhooks: dict[str, Webhook] = {}
        """Admission webhooks that can be simulated, by name."""
        self._writes.webhooks = self._deletes.webhooks = self.webhooks
        self._garbage_collection = GarbageCollection(self.store, self.discovery, self._deletes, self.clock)

    def now(self) -> datetime:
        return self.clock.now

    def kinds(self) -> tuple[ServedKind, ...]:
        return self.discovery.served_kinds()

    def load(self, objects: Iterable[Object]) -> list[Object]:
        """Store objects of a live cluster as they are: not validated, not defaulted, owners kept.

        Their namespaces are created. Returns the objects of kinds that are not served.
        """
        return load_objects(objects, self.store, self.discovery, self.clock)

    def objects(self) -> list[Object]:
        """Everything in the store, by kind, namespace and name."""
        return [obj for _, obj in self.store.everything()]

    def settle(self) -> bool:
        """Run garbage collection and namespace deletion; true if they changed anything."""
        return self._garbage_collection.settle()

    def keep_status(self, object_key: ObjectKey, new: Object, *, manager: str) -> Object:
        """A controller's write of a status: not decoded and not validated, a tenth of the cost of a request.

        It changes managedFields and causes a watch event.
        """
        return self._garbage_collection.write(object_key, new, subresource="status", manager=manager)

    def send(self, request: Request) -> Answer:
        answer = self._dispatch(request)
        self._garbage_collection.finalize_definitions()
        return answer

    def _dispatch(self, request: Request) -> Answer:
        try:
            call = self._call(request)
            code, body = self._answer(call)
        except RecursionError:
            refusal = bad_request("exceeded max depth")
            return Answer(code=refusal.code, body=refusal.status)
        except BadBody as error:  # of an object that was loaded
            refusal = internal(str(error))
            return Answer(code=refusal.code, body=refusal.status)
        except NoSuchPath:
            return Answer(code=404, text="404 page not found\n")
        except Refused as refusal:
            return Answer(code=refusal.code, body=refusal.status)
        return Answer(code=code, body=body)

    def _call(self, request: Request) -> RequestContext:
        request = known_user(request)
        if is_request_too_large(request.body):
            why = f"Request entity too large: limit is {MAX_REQUEST_BYTES}"
            raise Refused(413, "RequestEntityTooLarge", why)
        address = parse_url_path(request.path)
        if address is None:
            if request.user and not request.path.startswith("/api"):
                raise forbidden_path(request.user, request.path)
            raise NoSuchPath
        try:
            served = self.discovery.served(address)
        except NoSuchPath:
            if request.user:  # without access, the path must look forbidden, not missing
                raise forbidden_before_lookup(request, address) from None
            raise
        if address.namespace and not served.resource.namespaced:
            raise NoSuchPath if served.resource.custom else no_such_resource()
        request = with_effective_verb(request, address)
        if request.verb != "list" and served.resource.namespaced and not address.namespace:
            raise method_not_allowed("the server does not allow this method on the requested resource")
        call = RequestContext(request=request, address=address, served=served)
        check_access(call, self.store)
        if address.subresource and not _has(served, address.subresource):
            exists = served.resource.custom or address.subresource in _UNMODELED_SUBRESOURCES.get(
                address.plural, ()
            )
            raise call.missing() if exists else no_such_resource()
        check_method(request, address)
        return call

    def _answer(self, call: RequestContext) -> Reply:
        match call.request.verb:
            case "get":
                return self._reads.get(call)
            case "list":
                return self._reads.list(call)
            case "create":
                return self._writes.create(call)
            case "update":
                return self._writes.update(call)
            case "merge-patch" | "strategic-patch" | "json-patch" | "ssa":
                return self._writes.patch(call)
            case "delete":
                return self._deletes.delete(call)
            case other:
                raise method_not_allowed(f"unknown verb {other}")


_NAMESPACES: Final = ("", "namespaces")


def load_objects(objects: Iterable[Object], store: Store, discovery: Discovery, clock: Clock) -> list[Object]:
    """Stores objects of a real cluster as they are; returns those of unknown kinds.

    CustomResourceDefinitions are stored first, so that their kinds are known.
    """
    ordered = sorted(objects, key=lambda obj: obj.get("kind") != "CustomResourceDefinition")
    for obj in ordered:  # reserve all uids before new ones are generated
        for uid in (uid_of(obj), *owners_of(obj)):
            store.reserve_uid(uid)
    unserved: list[Object] = []
    owners: set[str] = set()
    for obj in ordered:
        resource = discovery.of_object(obj)
        name = text(dig(obj, "metadata", "name"))
        if resource is None or not name:
            unserved.append(obj)
            continue
        namespace = text(dig(obj, "metadata", "namespace")) if resource.namespaced else ""
        if namespace:
            _ensure_namespace(namespace, store, clock)
        identified = _identified(obj, store, clock)
        if resource.kind == "CustomResourceDefinition" and not dig(
            identified, "status", "acceptedNames", "kind"
        ):
            identified = established(identified, clock.stamp(), [])
        store.put((resource.store, namespace, name), identified)
        owners.update(owners_of(identified))
    # Facts are incomplete: an owner that is not loaded is assumed to exist.
    store.assumed_uids.update(uid for uid in owners if not store.with_uid(uid))
    return unserved


def _identified(obj: Object, store: Store, clock: Clock) -> Object:
    """The object with a uid and a creationTimestamp, if the source left them out."""
    meta = fields(obj.get("metadata"))
    if meta.get("uid") and meta.get("creationTimestamp"):
        return obj
    new_meta: Object = {
        **meta,
        "uid": meta.get("uid") or store.uid(),
        "creationTimestamp": meta.get("creationTimestamp") or clock.stamp(),
    }
    return {**obj, "metadata": new_meta}


def _ensure_namespace(name: str, store: Store, clock: Clock) -> None:
    object_key = (_NAMESPACES, "", name)
    if store.get(object_key) is not None:
        return
    namespace: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    store.put(object_key, _identified(namespace, store, clock))
