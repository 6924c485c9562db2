"""Evidence is cited, not typed: its value is read from the object that it points into."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from whysync.json_tree import Json, Missing
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref

# What is written anew for every container, whatever happens to it.
_OWN = frozenset({"containerID", "startedAt", "finishedAt", "restartCount"})

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


def without_repeats(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Evidence that says the same about several objects once, with their number: "4 Pods alike".

    Objects are alike if they differ only in names, instants and ids.
    """
    if len(evidence) < 2:
        return evidence
    groups: dict[tuple[str, ...], list[Evidence]] = {}
    for citation in evidence:
        groups.setdefault(_likeness(citation), []).append(citation)
    return tuple(_told_once(alike) for alike in groups.values())


def _told_once(alike: list[Evidence]) -> Evidence:
    first = alike[0]
    objects = len({one.ref for one in alike})
    if objects < 2:
        return first
    return msgspec.structs.replace(first, says=f"{first.says}; {objects} {first.ref.kind}s alike")


def _likeness(one: Evidence) -> tuple[str, ...]:
    """Evidence about one object at two places stays two; that of two objects at one place may be one."""
    return one.source, one.ref.kind, one.ref.namespace, one.pointer, one.says, _plain(one.value)


def _plain(value: Json) -> str:
    if isinstance(value, dict):
        return str(sorted((key, _plain(inner)) for key, inner in value.items() if key not in _OWN))
    if isinstance(value, list):
        return str([_plain(inner) for inner in value])
    return _names().sub("*", value) if isinstance(value, str) else str(value)


@cache
def _names() -> re.Pattern[str]:
    """Words that end as generated names do: `shop-6c9d5f7b8-x9p2k`."""
    return re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?-[a-z0-9]{5}\b")
