"""managedFields after a controller wrote a status, with a cache.

The result is that of an update through the `status` subresource. Controllers write statuses of the same
shape many times, so the result is cached by the previous managedFields and the shape of the change.
"""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.apiserver.managed_fields import (
    Writing,
    after_update,
    encode_managed,
    managed_or_empty,
)
from whysync.kubernetes.apiserver.resource_kind import Served
from whysync.kubernetes.merge.structured import FieldSet

_LIST_KEYS: Final = ("type", "ip", "name", "containerName", "uid", "key", "port", "protocol")
_NO_FIELDS: Final = FieldSet()
_MAX_CACHED: Final = 20_000
_NOW: Final = "now"
_ordered: Final = msgspec.json.Encoder(order="deterministic")


class FieldOwnership:
    """Computes managedFields after a status write, and caches them."""

    def __init__(self) -> None:
        self._cache: dict[bytes, list[Json]] = {}

    def after_status_write(
        self, obj: Object, status: Object, manager: str, now: str, served: Served
    ) -> list[Json]:
        """The managedFields of an object after `status` is written."""
        entries = items(fields(obj.get("metadata")).get("managedFields"))
        if not entries:
            return []
        status_entries = [
            entry for entry in entries if _covers_status(entry) or _is_status_entry_of(entry, manager)
        ]
        times = {_entry_key(entry): text(fields(entry).get("time")) for entry in status_entries}
        entries_without_time: list[Json] = [_with_time(entry, _entry_key(entry)) for entry in status_entries]
        old = fields(obj.get("status"))
        key = _ordered.encode(
            [
                obj.get("apiVersion"),
                obj.get("kind"),
                manager,
                entries_without_time,
                _change_shape(old, status),
            ]
        )
        updated_entries = self._cache.get(key)
        if updated_entries is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            updated_entries = self._cache[key] = _compute(entries_without_time, old, status, manager, served)
        others = [entry for entry in entries if entry not in status_entries]
        new_entries: list[Json] = [
            _with_time(
                entry, now if (entry_key := text(fields(entry).get("time"))) == _NOW else times[entry_key]
            )
            for entry in updated_entries
        ]
        return sorted([*others, *new_entries], key=_sort_key)


def managed_fields_after_write(
    old: Object, new: Object, manager: str, now: str, served: Served
) -> list[Json]:
    """The managedFields after a write of more than the status, without a cache."""
    version = served.resource.api_version
    managed = managed_or_empty(old)
    if not managed.claims:
        return []
    writing = Writing(
        manager=manager, subresource="status", api_version=version, now=now, excluded=_NO_FIELDS
    )
    return encode_managed(after_update(old, new, managed, writing, served.atom))


def _compute(entries: list[Json], old: Object, new: Object, manager: str, served: Served) -> list[Json]:
    version = served.resource.api_version
    managed = managed_or_empty({"metadata": {"managedFields": entries}})
    writing = Writing(
        manager=manager, subresource="status", api_version=version, now=_NOW, excluded=_NO_FIELDS
    )
    old_object: Object = {"apiVersion": version, "kind": served.resource.kind, "status": old}
    new_object: Object = {**old_object, "status": new}
    return encode_managed(after_update(old_object, new_object, managed, writing, served.atom))


def _covers_status(entry: Json) -> bool:
    return "f:status" in fields(fields(entry).get("fieldsV1"))


def _is_status_entry_of(entry: Json, manager: str) -> bool:
    entry_fields = fields(entry)
    return entry_fields.get("manager") == manager and entry_fields.get("subresource") == "status"


def _entry_key(entry: Json) -> str:
    entry_fields = fields(entry)
    return "/".join(
        text(entry_fields.get(key)) for key in ("operation", "manager", "apiVersion", "subresource")
    )


def _with_time(entry: Json, time: str) -> Json:
    return {**fields(entry), "time": time}


def _sort_key(entry: Json) -> tuple[str, ...]:
    entry_fields = fields(entry)
    return tuple(
        text(entry_fields.get(key)) for key in ("operation", "time", "manager", "apiVersion", "subresource")
    )


def _change_shape(old: Json, new: Json) -> Json:
    """A summary of the change that determines which fields changed; equal parts are left out."""
    if isinstance(old, dict) and isinstance(new, dict):
        shape: Object = {}
        for key, value in new.items():
            if key not in old:
                shape[key] = ["+", _shape(value)]
            elif (old_value := old[key]) is not value and old_value != value:
                shape[key] = _change_shape(old_value, value)
        if len(old) != len(new) or len(shape) != 0:
            for key, value in old.items():
                if key not in new:
                    shape[key] = ["-", _shape(value)]
        return shape
    if isinstance(old, list) and isinstance(new, list):
        old_keys, new_keys = [_list_key(item) for item in old], [_list_key(item) for item in new]
        if old_keys != new_keys or None in old_keys:
            return [1, [_shape(item) for item in old], [_shape(item) for item in new]]
        return [
            old_keys,
            [
                0 if item is new_item or item == new_item else _change_shape(item, new_item)
                for item, new_item in zip(old, new, strict=True)
            ],
        ]
    if isinstance(old, (dict, list)) or isinstance(new, (dict, list)):
        return ["other", _shape(old), _shape(new)]
    return 1


def _list_key(value: Json) -> Json:
    """The key of a list item: its possible merge keys, or the item itself if it is a scalar."""
    if not isinstance(value, dict):
        return value
    keys = [value.get(name) for name in _LIST_KEYS]
    return keys if any(key is not None for key in keys) else None


def _shape(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [[_list_key(item), _shape(item)] if isinstance(item, dict) else item for item in value]
    return 0
