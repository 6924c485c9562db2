"""Writes the status of pods, many of them: who owns what is worked out once for all pods alike.

The only thing of a pod's own in its managedFields is its address, which the list `podIPs` is keyed by; it is
put aside while the claims are looked up.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, fields, items, same, text
from whysync.kubernetes.apiserver.url_paths import UrlPath
from whysync.kubernetes.controllers.client import Client
from whysync.kubernetes.controllers.field_ownership import FieldOwnership

_ANY: Final = "0.0.0.0"  # a stand-in: nothing listens there


class PodStatusWriter:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._claims = FieldOwnership()
        self._served = client.api_server.discovery.served(UrlPath("v1", "pods"))

    def write(self, pod: Object, status: Object) -> Object:
        """The pod as it is then; nothing is written where nothing is new."""
        live = self._client.again(pod)
        old = fields(pod.get("status")) if live is None else fields(live.get("status"))
        if live is None or same(old, status):
            return pod if live is None else live
        meta = fields(live.get("metadata"))
        address = text(status.get("podIP"))
        entries = [
            _with_key(managed_field, _key(address), _key(_ANY))
            for managed_field in items(meta.get("managedFields"))
        ]
        stand_in: Object = {**live, "metadata": {"managedFields": entries}, "status": _anywhere(old)}
        managed = self._claims.after(
            stand_in, _anywhere(status), self._client.manager, self._client.stamp(), self._served
        )
        if managed:
            managed = [_with_key(entry, _key(_ANY), _key(address)) for entry in managed]
            meta = {**meta, "managedFields": managed}
        new: Object = {**live, "metadata": meta, "status": status}
        return self._client.api_server.store.put(self._client.place(live), new)


def _key(address: str) -> str:
    return f'k:{{"ip":"{address}"}}'


def _anywhere(status: Object) -> Object:
    addresses = items(status.get("podIPs"))
    if len(addresses) != 1:
        return status
    stand_in: list[Json] = [{"ip": _ANY}]
    return {**status, "podIPs": stand_in}


def _with_key(entry: Json, key: str, other: str) -> Json:
    """The entry of managedFields with another address."""
    entry_fields = fields(entry)
    owned = fields(entry_fields.get("fieldsV1"))
    status = fields(owned.get("f:status"))
    addresses = fields(status.get("f:podIPs"))
    if key not in addresses:
        return entry
    renamed: Object = {(other if step == key else step): value for step, value in addresses.items()}
    inside: Object = {**status, "f:podIPs": renamed}
    return {**entry_fields, "fieldsV1": {**owned, "f:status": inside}}
