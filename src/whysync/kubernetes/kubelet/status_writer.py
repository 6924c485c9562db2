"""Writes pod status, computing managedFields once for all pods with the same shape of status.

The only value specific to a pod in its managedFields is its IP, the key of the list `podIPs`. A placeholder
replaces it while the managedFields are looked up.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, fields, items, same, text
from whysync.kubernetes.apiserver.url_paths import UrlPath
from whysync.kubernetes.controllers.client import Client
from whysync.kubernetes.controllers.field_ownership import FieldOwnership

_PLACEHOLDER_IP: Final = "0.0.0.0"


class PodStatusWriter:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._ownership = FieldOwnership()
        self._served = client.api_server.discovery.served(UrlPath("v1", "pods"))

    def write(self, pod: Object, status: Object) -> Object:
        """Write the status unless it is unchanged; returns the stored pod."""
        live = self._client.live(pod)
        old = fields(pod.get("status")) if live is None else fields(live.get("status"))
        if live is None or same(old, status):
            return pod if live is None else live
        meta = fields(live.get("metadata"))
        address = text(status.get("podIP"))
        entries = [
            _with_ip_key(managed_field, _ip_key(address), _ip_key(_PLACEHOLDER_IP))
            for managed_field in items(meta.get("managedFields"))
        ]
        stand_in: Object = {
            **live,
            "metadata": {"managedFields": entries},
            "status": _with_placeholder_ip(old),
        }
        managed = self._ownership.after_status_write(
            stand_in, _with_placeholder_ip(status), self._client.manager, self._client.stamp(), self._served
        )
        if managed:
            managed = [_with_ip_key(entry, _ip_key(_PLACEHOLDER_IP), _ip_key(address)) for entry in managed]
            meta = {**meta, "managedFields": managed}
        new: Object = {**live, "metadata": meta, "status": status}
        return self._client.api_server.store.put(self._client.object_key(live), new)


def _ip_key(address: str) -> str:
    return f'k:{{"ip":"{address}"}}'


def _with_placeholder_ip(status: Object) -> Object:
    addresses = items(status.get("podIPs"))
    if len(addresses) != 1:
        return status
    stand_in: list[Json] = [{"ip": _PLACEHOLDER_IP}]
    return {**status, "podIPs": stand_in}


def _with_ip_key(entry: Json, key: str, new_key: str) -> Json:
    """The entry of managedFields with one key of `podIPs` replaced."""
    entry_fields = fields(entry)
    owned = fields(entry_fields.get("fieldsV1"))
    status = fields(owned.get("f:status"))
    addresses = fields(status.get("f:podIPs"))
    if key not in addresses:
        return entry
    renamed: Object = {(new_key if item == key else item): value for item, value in addresses.items()}
    new_status: Object = {**status, "f:podIPs": renamed}
    return {**entry_fields, "fieldsV1": {**owned, "f:status": new_status}}
