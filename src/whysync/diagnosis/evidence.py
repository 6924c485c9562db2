"""Evidence: a value cited from an object, a log or a file, with a short explanation."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from whysync.json_tree import Json, Missing
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref

# Fields that differ for every container run.
_PER_RUN = frozenset({"containerID", "startedAt", "finishedAt", "restartCount"})

MAX_VALUE_LENGTH = 2_000


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """`source` is the role of the object, or `log`, `git`, `tree`; `value` is at `pointer` in it."""

    source: str
    ref: Ref
    pointer: str
    value: Json
    says: str
    origin: str = ""


def cite(manifest: Manifest, pointer: str, *, says: str) -> Evidence:
    """The value at `pointer`; `null` if the field is missing."""
    value = manifest.at(pointer)
    return Evidence(
        source=manifest.role.value,
        ref=manifest.ref,
        pointer=pointer,
        value=None if isinstance(value, Missing) else shortened(value),
        says=says,
        origin=manifest.origin,
    )


def cite_if(
    manifest: Manifest | None, pointer: str | None, *, says: str, when: bool = True
) -> tuple[Evidence, ...]:
    """The citation if the object and the pointer are known, and `when` holds; otherwise none."""
    return (cite(manifest, pointer, says=says),) if manifest is not None and pointer and when else ()


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
    """A long text is truncated, with its length appended."""
    if isinstance(value, str) and len(value) > MAX_VALUE_LENGTH:
        return f"{value[:MAX_VALUE_LENGTH]}… ({len(value)} characters)"
    return value


def without_repeats(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Merge equal evidence about several objects and append their number: "4 Pods alike".

    Evidence is equal if it differs only in names, times and ids.
    """
    if len(evidence) < 2:
        return evidence
    groups: dict[tuple[str, ...], list[Evidence]] = {}
    for citation in evidence:
        groups.setdefault(_merge_key(citation), []).append(citation)
    return tuple(_merged(group) for group in groups.values())


def _merged(group: list[Evidence]) -> Evidence:
    first = group[0]
    objects = len({evidence.ref for evidence in group})
    if objects < 2:
        return first
    return msgspec.structs.replace(first, says=f"{first.says}; {objects} {first.ref.kind}s alike")


def _merge_key(evidence: Evidence) -> tuple[str, ...]:
    """Equal for evidence at the same pointer of several objects of one kind and namespace."""
    ref = evidence.ref
    return evidence.source, ref.kind, ref.namespace, evidence.pointer, evidence.says, _plain(evidence.value)


def _plain(value: Json) -> str:
    if isinstance(value, dict):
        return str(sorted((key, _plain(inner)) for key, inner in value.items() if key not in _PER_RUN))
    if isinstance(value, list):
        return str([_plain(inner) for inner in value])
    return _names().sub("*", value) if isinstance(value, str) else str(value)


@cache
def _names() -> re.Pattern[str]:
    """Matches generated names such as `shop-6c9d5f7b8-x9p2k`."""
    return re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?-[a-z0-9]{5}\b")
