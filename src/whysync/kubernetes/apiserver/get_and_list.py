"""Handlers of `get` and `list`."""

from __future__ import annotations

from whysync.json_tree import Json, Object
from whysync.kubernetes.apiserver.custom_resources import CustomResource
from whysync.kubernetes.apiserver.discovery import Discovery
from whysync.kubernetes.apiserver.list_selectors import predicate_of_url
from whysync.kubernetes.apiserver.request import Reply, RequestContext
from whysync.kubernetes.apiserver.scale_subresource import scale_of
from whysync.kubernetes.apiserver.storage import Store


class ReadHandlers:
    def __init__(self, store: Store, discovery: Discovery) -> None:
        self._store = store
        self._discovery = discovery

    def get(self, call: RequestContext) -> Reply:
        obj = self._store.get(call.object_key)
        if obj is None:
            raise call.missing()
        if call.address.subresource == "scale":
            return Reply(200, scale_of(obj, call.served))
        return Reply(200, as_served(obj, call))

    def list(self, call: RequestContext) -> Reply:
        resource = call.resource
        predicate = predicate_of_url(call.request.path, resource)
        listed: list[Json] = [
            as_listed(obj, call)
            for _, obj in self._store.within(resource.store, call.address.namespace)
            if predicate is None or predicate(obj)
        ]
        meta: Object = {"resourceVersion": self._store.revision}
        if isinstance(call.served, CustomResource):
            meta["continue"] = ""
        return Reply(
            200,
            {
                "kind": f"{resource.kind}List",
                "apiVersion": resource.api_version,
                "metadata": meta,
                "items": listed,
            },
        )


def as_served(obj: Object, call: RequestContext) -> Object:
    """The object in the requested version."""
    return call.served.read(obj)


def as_listed(obj: Object, call: RequestContext) -> Object:
    """An item of a list; built-in kinds omit apiVersion and kind."""
    served = as_served(obj, call)
    if call.resource.custom:
        return served
    return {key: value for key, value in served.items() if key not in {"apiVersion", "kind"}}
