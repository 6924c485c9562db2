"""Follow Applications: which of them changed, as Kubernetes or Argo CD reports it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

import msgspec

from whysync.facts.http.client import Client, Params
from whysync.facts.http.errors import MalformedResponse
from whysync.json_tree import Object, dig, fields, text

_WATCH_SECONDS: Final = 300
"""A watch is opened again after this time, as clients of Kubernetes do."""
_SILENCE: Final = _WATCH_SECONDS + 30.0


class ApplicationChange(msgspec.Struct, frozen=True, kw_only=True):
    """`version` is the resourceVersion; a change that the reader already has can be skipped."""

    namespace: str
    name: str
    version: str
    deleted: bool = False


async def follow_list(client: Client, path: str, params: Params) -> AsyncGenerator[ApplicationChange | None]:
    """Changes since now of a list of the Kubernetes API. The first item, `None`, says that it has begun."""
    first = await client.object(path, {**params, "limit": 1})
    watch = {
        **params,
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": _WATCH_SECONDS,
        "resourceVersion": text(dig(first, "metadata", "resourceVersion")),
    }
    yield None
    async for line in client.lines(path, watch, silence=_SILENCE):
        event = decoded(line, path)
        kind = text(event.get("type"))
        if kind == "ERROR":  # the version expired; the next watch begins with a newer one
            return
        if kind in ("ADDED", "MODIFIED", "DELETED"):
            yield change_of(fields(event.get("object")), deleted=kind == "DELETED")


def decoded(line: bytes, path: str) -> Object:
    """One event; an empty line has none."""
    if not line.strip():
        return {}
    try:
        return fields(msgspec.json.decode(line))
    except msgspec.DecodeError as problem:
        raise MalformedResponse(what=f"the stream of {path} is not JSON", path=path) from problem


def change_of(application: Object, *, deleted: bool) -> ApplicationChange:
    metadata = fields(application.get("metadata"))
    return ApplicationChange(
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        version=text(metadata.get("resourceVersion")),
        deleted=deleted,
    )
