"""What a watch tells: the writes of the journal that it is about, as the client's version shows them.

Nothing waits here: a watch gives what has happened since a resource version, and whoever wants more asks
again from the last one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple

from whysync.json_tree import Object, fields
from whysync.kubernetes.apiserver.list_selectors import Choice, chosen_by
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.storage import Change, Store


class WatchEvent(NamedTuple):
    """One event of a watch."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Object


def watched(call: RequestContext, store: Store, since: str) -> Iterator[WatchEvent]:
    """Since a resource version; without one, all that is there now counts as added."""
    choice = chosen_by(call.request.path, call.resource)
    if not since.isdecimal() or since == "0":
        for _, obj in store.within(call.resource.store, call.address.namespace):
            if _concerns(obj, call) and (choice is None or choice(obj)):
                yield WatchEvent("ADDED", call.served.read(obj))
        return
    seen: dict[tuple[str, str], bool] = {}
    start = bisect_right(store.journal, int(since), key=lambda change: change.revision)
    for change in store.journal[start:]:
        kind, namespace, name = change.place
        if kind != call.resource.store or call.address.namespace not in ("", namespace):
            continue
        if call.address.name in ("", name):
            yield from _events_of(change, call, choice, seen)


def _concerns(obj: Object, call: RequestContext) -> bool:
    return not call.address.name or fields(obj.get("metadata")).get("name") == call.address.name


def _events_of(
    change: Change, call: RequestContext, choice: Choice | None, seen: dict[tuple[str, str], bool]
) -> Iterator[WatchEvent]:
    """Watch events of a change: DELETED if the object stops matching, ADDED if it starts to match."""
    obj, kind = change.obj, change.type
    if choice is not None:
        key = change.place[1:]
        fits = choice(obj)
        before = seen.get(key, fits)
        seen[key] = fits and kind != "DELETED"
        if not fits and not before:
            return
        if not fits:
            kind = "DELETED"
        elif not before and kind == "MODIFIED":
            kind = "ADDED"
    shown = call.served.read(obj)
    if kind == "DELETED":
        meta: Object = {**fields(shown.get("metadata")), "resourceVersion": str(change.revision)}
        shown: Object = {**shown, "metadata": meta}
    yield WatchEvent(kind, shown)
