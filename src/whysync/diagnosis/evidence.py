"""Evidence is cited, not typed: its value is read from the object that it points into."""

from __future__ import annotations

import msgspec

from whysync.json_tree import Json, Missing
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref

LONGEST_VALUE = 2_000


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """`source` is the role of the object, or `log`, `git`, `tree`; `pointer` leads to `value` inside it."""

    source: str
    ref: Ref
    pointer: str
    value: Json
    says: str
    origin: str = ""


def cite(manifest: Manifest, pointer: str, *, says: str) -> Evidence:
    """The value at `pointer`; `null` where there is none, which can be what matters."""
    value = manifest.at(pointer)
    return Evidence(
        source=manifest.role.value,
        ref=manifest.ref,
        pointer=pointer,
        value=None if isinstance(value, Missing) else shortened(value),
        says=says,
        origin=manifest.origin,
    )


def cite_line(log: Log, line: int, *, says: str) -> Evidence:
    """One line of a container's log, counted from 1."""
    return Evidence(
        source="log",
        ref=Ref(version="v1", kind="Pod", namespace=log.namespace, name=log.pod, cluster=log.cluster),
        pointer=f"/{log.container}{'.previous' if log.previous else ''}/{line}",
        value=shortened(log.lines[line - 1]),
        says=says,
        origin=log.origin,
    )


def shortened(value: Json) -> Json:
    """Evidence is to be read by a person: a long text is cut, and says so."""
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        return f"{value[:LONGEST_VALUE]}… ({len(value)} characters)"
    return value
