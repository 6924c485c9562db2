"""`metadata.managedFields`: which writer owns which field, as the API server keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from whysync.contracts.decode import decode
from whysync.contracts.tree import Json, Object, fields, items
from whysync.contracts.wire import Wire


class ManagedFieldsEntry(Wire, frozen=True):
    """One writer's claim: who, how (`Apply` or `Update`), when, and over which fields."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    subresource: str = ""
    time: datetime | None = None
    fields_v1: Object = msgspec.field(default={}, name="fieldsV1")


def entries_of(body: Object) -> Iterator[ManagedFieldsEntry]:
    """The entries of a live object, in the order in which the API server wrote them."""
    for raw in items(fields(body.get("metadata")).get("managedFields")):
        entry, _ = decode(fields(raw), ManagedFieldsEntry)
        if entry is not None:
            yield entry


def owned_children(claim: Json) -> Object:
    """The children of one node of `fieldsV1`, without its own mark (`.`)."""
    return {name: below for name, below in fields(claim).items() if name != "."}
