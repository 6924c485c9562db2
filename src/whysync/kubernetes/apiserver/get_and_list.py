"""Handlers of `get` and `list`."""

from __future__ import annotations

from whysync.json_tree import Json, Object
from whysync.kubernetes.apiserver.custom_resources import CustomResource
from whysync.kubernetes.apiserver.discovery import Discovery
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
        """Differs: query parameters (selectors, limit) are ignored; the simulated clients send none."""
        resource = call.resource
        listed: list[Json] = [
            _as_listed(obj, call) for _, obj in self._store.within(resource.store, call.address.namespace)
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


def _as_listed(obj: Object, call: RequestContext) -> Object:
    """An item of a list; built-in kinds omit apiVersion and kind."""
    served = as_served(obj, call)
    if call.resource.custom:
        return served
    return {key: value for key, value in served.items() if key not in {"apiVersion", "kind"}}
