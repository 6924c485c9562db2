"""EventRecorder: counts repeated events, aggregates similar ones and drops spam.

Mirrors client-go `record.EventCorrelator`, Kubernetes 1.36: ten events within ten minutes that differ only in
their message are aggregated; per source, type and object at most 25 events are written, plus one every five
minutes. The resourceVersion of the involved object is ignored when events are compared.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.apiserver.storage import Store
from whysync.kubernetes.clock import Clock

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
