"""Events in their two groups: the same objects, under other names.

Mirrors the conversions between `v1` and `events.k8s.io/v1`, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object

OWN: Final = "events.k8s.io/v1"
_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK: Final = {own: core for core, own in _NAMES.items()}


def in_group(event: Object, api_version: str) -> Object:
    names = _NAMES if api_version == OWN else _BACK
    return {**{names.get(key, key): value for key, value in event.items()}, "apiVersion": api_version}
