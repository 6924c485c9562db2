"""Who owns what in a status after a controller wrote it, quickly: nothing but the status is looked at.

The same as an update through the `status` door of the API server. Controllers write the same shapes over
and over, so that the answer is kept by what was owned, what changed and what was there.
"""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.apiserver.managed_fields import Writing, after_update, kept_managed, written_managed
from whysync.kubernetes.apiserver.resource_kind import Served
from whysync.kubernetes.merge.structured import FieldSet

_NAMES: Final = ("type", "ip", "name", "containerName", "uid", "key", "port", "protocol")
_NOTHING: Final = FieldSet()
_MOST_KEPT: Final = 20_000
_NOW: Final = "now"
_ordered: Final = msgspec.json.Encoder(order="deterministic")


class FieldOwnership:
    """Claims after a write of a status; keeps what it has worked out."""

    def __init__(self) -> None:
        self._known: dict[bytes, list[Json]] = {}

    def after(self, obj: Object, status: Object, manager: str, now: str, served: Served) -> list[Json]:
        """The managedFields of an object after `status` is written."""
        entries = items(fields(obj.get("metadata")).get("managedFields"))
        if not entries:
            return []
        mine = [entry for entry in entries if _tells_of_status(entry) or _is(entry, manager)]
        times = {_who(entry): text(fields(entry).get("time")) for entry in mine}
        timeless: list[Json] = [_with_time(entry, _who(entry)) for entry in mine]
        old = fields(obj.get("status"))
        key = _ordered.encode(
            [obj.get("apiVersion"), obj.get("kind"), manager, timeless, _trace(old, status)]
        )
        updated_entries = self._known.get(key)
        if updated_entries is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            updated_entries = self._known[key] = _reckoned(timeless, old, status, manager, served)
        others = [entry for entry in entries if entry not in mine]
        fresh: list[Json] = [
            _with_time(entry, now if (mark := text(fields(entry).get("time"))) == _NOW else times[mark])
            for entry in updated_entries
        ]
        return sorted([*others, *fresh], key=_rank)


def whole_claims(old: Object, new: Object, manager: str, now: str, served: Served) -> list[Json]:
    """The same where more than the status changed: the slow way."""
    version = served.resource.api_version
    managed = kept_managed(old)
    if not managed.claims:
        return []
    writing = Writing(manager=manager, subresource="status", api_version=version, now=now, excluded=_NOTHING)
    return written_managed(after_update(old, new, managed, writing, served.atom))


def _reckoned(entries: list[Json], old: Object, new: Object, manager: str, served: Served) -> list[Json]:
    version = served.resource.api_version
    managed = kept_managed({"metadata": {"managedFields": entries}})
    writing = Writing(manager=manager, subresource="status", api_version=version, now=_NOW, excluded=_NOTHING)
    before: Object = {"apiVersion": version, "kind": served.resource.kind, "status": old}
    after: Object = {**before, "status": new}
    return written_managed(after_update(before, after, managed, writing, served.atom))


def _tells_of_status(entry: Json) -> bool:
    return "f:status" in fields(fields(entry).get("fieldsV1"))


def _is(entry: Json, manager: str) -> bool:
    entry_fields = fields(entry)
    return entry_fields.get("manager") == manager and entry_fields.get("subresource") == "status"


def _who(entry: Json) -> str:
    entry_fields = fields(entry)
    return "/".join(
        text(entry_fields.get(key)) for key in ("operation", "manager", "apiVersion", "subresource")
    )


def _with_time(entry: Json, time: str) -> Json:
    return {**fields(entry), "time": time}


def _rank(entry: Json) -> tuple[str, ...]:
    entry_fields = fields(entry)
    return tuple(
        text(entry_fields.get(key)) for key in ("operation", "time", "manager", "apiVersion", "subresource")
    )


def _trace(old: Json, new: Json) -> Json:
    """What determines which fields changed between two values; equal parts are left out."""
    if isinstance(old, dict) and isinstance(new, dict):
        trace: Object = {}
        for key, value in new.items():
            if key not in old:
                trace[key] = ["+", _shape(value)]
            elif (before := old[key]) is not value and before != value:
                trace[key] = _trace(before, value)
        if len(old) != len(new) or len(trace) != 0:
            for key, value in old.items():
                if key not in new:
                    trace[key] = ["-", _shape(value)]
        return trace
    if isinstance(old, list) and isinstance(new, list):
        names, others = [_named(item) for item in old], [_named(item) for item in new]
        if names != others or None in names:
            return [1, [_shape(item) for item in old], [_shape(item) for item in new]]
        return [
            names,
            [
                0 if item is two or item == two else _trace(item, two)
                for item, two in zip(old, new, strict=True)
            ],
        ]
    if isinstance(old, (dict, list)) or isinstance(new, (dict, list)):
        return ["other", _shape(old), _shape(new)]
    return 1


def _named(value: Json) -> Json:
    """What an item of a list is known by; of a plain value, itself."""
    if not isinstance(value, dict):
        return value
    keys = [value.get(name) for name in _NAMES]
    return keys if any(key is not None for key in keys) else None


def _shape(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [[_named(item), _shape(item)] if isinstance(item, dict) else item for item in value]
    return 0
