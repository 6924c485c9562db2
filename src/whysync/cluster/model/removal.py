"""Deleting objects: preconditions, finalizers, propagation."""

from __future__ import annotations

from whysync.cluster.model.discovery import Discovery
from whysync.cluster.model.requests import Call, Reply
from whysync.cluster.model.store import Store
from whysync.cluster.model.writes import Writes
from whysync.contracts.tree import Object, dig, fields, items, text


class Removal:
    def __init__(self, store: Store, discovery: Discovery, writes: Writes) -> None:
        self._store = store
        self._discovery = discovery
        self._writes = writes

    def delete(self, call: Call) -> Reply:
        live = self._store.get(call.place)
        if live is None:
            raise call.missing()
        if not call.request.dry_run:
            self._store.drop(call.place)
        return Reply(200, deleted_status(live, call))

    def delete_all(self, call: Call) -> Reply:
        for place, _ in list(self._store.within(call.resource.store, call.address.namespace)):
            self._store.drop(place)
        return Reply(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})


def deleted_status(live: Object, call: Call) -> Object:
    meta = fields(live.get("metadata"))
    details: Object = {"name": text(meta.get("name"))}
    if call.resource.group:
        details["group"] = call.resource.group
    details["kind"] = call.resource.plural
    details["uid"] = text(meta.get("uid"))
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def has_finalizers(obj: Object) -> bool:
    return bool(items(dig(obj, "metadata", "finalizers")))
