"""The API server: takes a request, finds who serves its path, and answers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final
from urllib.parse import parse_qs

from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.admission.webhooks import Webhook
from whysync.kubernetes.apiserver.custom_resources import established
from whysync.kubernetes.apiserver.decoding import BadBody
from whysync.kubernetes.apiserver.deletion import DeleteHandler
from whysync.kubernetes.apiserver.discovery import Discovery
from whysync.kubernetes.apiserver.discovery_documents import document
from whysync.kubernetes.apiserver.garbage_collection import GarbageCollection
from whysync.kubernetes.apiserver.get_and_list import ReadHandlers
from whysync.kubernetes.apiserver.handlers import WriteHandlers
from whysync.kubernetes.apiserver.protocol import Answer, Request, ServedKind
from whysync.kubernetes.apiserver.rbac_authorizer import (
    check_access,
    known_user,
    no_such_path_for,
    unknown_to,
)
from whysync.kubernetes.apiserver.request import Reply, RequestContext
from whysync.kubernetes.apiserver.request_body import LARGEST_REQUEST, oversized
from whysync.kubernetes.apiserver.resource_kind import Served
from whysync.kubernetes.apiserver.status_errors import (
    NoSuchPath,
    Refused,
    bad_request,
    internal,
    method_not_allowed,
    no_such_resource,
)
from whysync.kubernetes.apiserver.storage import Place, Store, owners_of, uid_of
from whysync.kubernetes.apiserver.url_paths import address_of, check_method, check_query, with_fitting_verb
from whysync.kubernetes.apiserver.watch import WatchEvent, watched
from whysync.kubernetes.clock import Clock

_DOORS = {
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
"""Subresources of which the model knows only that they are there."""


def _has(served: Served, subresource: str) -> bool:
    resource = served.resource
    return {"status": resource.status, "scale": resource.scale}.get(subresource, False)


class ApiServer:
    """A cluster in memory. `clock` is the only time it knows; nothing happens between requests."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.store = Store()
        self.discovery = Discovery(self.store)
        self._writes = WriteHandlers(self.store, self.discovery, self.clock)
        self._reads = ReadHandlers(self.store, self.discovery)
        self._removal = DeleteHandler(self.store, self.clock)
        self.webhooks: dict[str, Webhook] = {}
        """Admission webhooks that the model knows how to play, by name."""
        self._writes.webhooks = self._removal.webhooks = self.webhooks
        self._housekeeping = GarbageCollection(self.store, self.discovery, self._removal, self.clock)

    def now(self) -> datetime:
        return self.clock.now

    def kinds(self) -> tuple[ServedKind, ...]:
        return self.discovery.served_kinds()

    def load(self, objects: Iterable[Object]) -> list[Object]:
        """Put objects in as they are found on a live cluster: not checked, not defaulted, owners kept.

        Namespaces that they live in are made. Gives back those of kinds that nothing serves.
        """
        return load_objects(objects, self.store, self.discovery, self.clock)

    def objects(self) -> list[Object]:
        """Everything in the store, by kind, namespace and name."""
        return [obj for _, obj in self.store.everything()]

    def watch(self, path: str, since: str = "", *, user: str = "") -> tuple[WatchEvent, ...]:
        """What happened to the objects of a collection since a resource version; raises `Refused`.

        Without one, all that is there now. Ask again from `store.revision` for what comes later.
        """
        call = self._call(Request(verb="watch", path=path, user=user))
        return tuple(watched(call, self.store, since))

    def settle(self) -> bool:
        """Let the controllers that clean up after deletions do their work; true where they did any."""
        return self._housekeeping.settle()

    def keep(self, place: Place, new: Object, *, manager: str, subresource: str = "status") -> Object:
        """A controller's write: not decoded, not checked, but owned and told as any other.

        For those who know what they write, many times: it costs a tenth of a request.
        """
        return self._housekeeping.keep(place, new, subresource=subresource, manager=manager)

    def send(self, request: Request) -> Answer:
        answer = self._sent(request)
        self._housekeeping.end_definitions()
        return answer

    def _sent(self, request: Request) -> Answer:
        if request.verb in {"get", "list"}:
            discovery_document = document(request.path, self.discovery)
            if discovery_document is not None:
                return Answer(code=200, body=discovery_document)
        try:
            call = self._call(request)
            code, body = self._answer(call)
        except RecursionError:
            refusal = bad_request("exceeded max depth")
            return Answer(code=refusal.code, body=refusal.status)
        except BadBody as problem:  # of an object that was loaded as it was found
            refusal = internal(str(problem))
            return Answer(code=refusal.code, body=refusal.status)
        except NoSuchPath:
            return Answer(code=404, text="404 page not found\n")
        except Refused as refusal:
            return Answer(code=refusal.code, body=refusal.status)
        return Answer(code=code, body=body)

    def _call(self, request: Request) -> RequestContext:
        request = known_user(request)
        if oversized(request.body):
            why = f"Request entity too large: limit is {LARGEST_REQUEST}"
            raise Refused(413, "RequestEntityTooLarge", why)
        address = address_of(request.path)
        if address is None:
            if request.user and not request.path.startswith("/api"):
                raise no_such_path_for(request.user, request.path)
            raise NoSuchPath
        check_query(request.path)
        try:
            served = self.discovery.served(address)
        except NoSuchPath:
            if request.user:  # who may do nothing there does not learn that nothing is there
                raise unknown_to(request, address) from None
            raise
        if address.namespace and not served.resource.namespaced:
            raise NoSuchPath if served.resource.custom else no_such_resource()
        request = with_fitting_verb(request, address)
        if request.verb not in {"list", "watch"} and served.resource.namespaced and not address.namespace:
            raise method_not_allowed("the server does not allow this method on the requested resource")
        call = RequestContext(request=request, address=address, served=served)
        check_access(call, self.store)
        if address.subresource and not _has(served, address.subresource):
            known = served.resource.custom or address.subresource in _DOORS.get(address.plural, ())
            raise call.missing() if known else no_such_resource()
        check_method(request, address)
        return call

    def _answer(self, call: RequestContext) -> Reply:
        match call.request.verb:
            case "get":
                return self._reads.get(call)
            case "list":
                return self._reads.list(call)
            case "watch":
                return self._watched(call)
            case "create":
                return self._writes.create(call)
            case "update":
                return self._writes.update(call)
            case "merge-patch" | "strategic-patch" | "json-patch" | "ssa":
                return self._writes.patch(call)
            case "delete":
                return self._removal.delete(call)
            case "deletecollection":
                return self._removal.delete_all(call)
            case other:
                raise method_not_allowed(f"unknown verb {other}")

    def _watched(self, call: RequestContext) -> Reply:
        """The events one after another; a server would write each on a line of its own."""
        since = parse_qs(call.request.path.partition("?")[2]).get("resourceVersion", [""])[0]
        events: list[Json] = [
            {"type": event.type, "object": event.object} for event in watched(call, self.store, since)
        ]
        return Reply(200, {"kind": "WatchEvents", "items": events})


_NAMESPACES: Final = ("", "namespaces")


def load_objects(objects: Iterable[Object], store: Store, discovery: Discovery, clock: Clock) -> list[Object]:
    """Stores objects of a real cluster as they are; returns those of unknown kinds.

    Definitions go first, so that their kinds are known.
    """
    waiting = sorted(objects, key=lambda obj: obj.get("kind") != "CustomResourceDefinition")
    for obj in waiting:  # before the first of them gets a new one
        for uid in (uid_of(obj), *owners_of(obj)):
            store.give_no_more(uid)
    strangers: list[Object] = []
    owners: set[str] = set()
    for obj in waiting:
        resource = discovery.of_object(obj)
        name = text(dig(obj, "metadata", "name"))
        if resource is None or not name:
            strangers.append(obj)
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
    # Not everything of a cluster is collected: an owner that is not here is taken to be alive elsewhere.
    store.elsewhere.update(uid for uid in owners if not store.known_as(uid))
    return strangers


def _identified(obj: Object, store: Store, clock: Clock) -> Object:
    """With an identity and an age, where the source left them out."""
    meta = fields(obj.get("metadata"))
    if meta.get("uid") and meta.get("creationTimestamp"):
        return obj
    known: Object = {
        **meta,
        "uid": meta.get("uid") or store.uid(),
        "creationTimestamp": meta.get("creationTimestamp") or clock.stamp(),
    }
    return {**obj, "metadata": known}


def _ensure_namespace(name: str, store: Store, clock: Clock) -> None:
    place = (_NAMESPACES, "", name)
    if store.get(place) is not None:
        return
    namespace: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    store.put(place, _identified(namespace, store, clock))
