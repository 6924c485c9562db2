"""Evidence that says the same of several objects is told once, with their number.

Four Pods of one Job that ended alike are one link of the chain, "4 Pods alike", and not four. What differs
between them is only what always differs: the Pod's own name, instants, ids.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec

from whysync.diagnosis.evidence import Evidence
from whysync.json_tree import Json

# What is written anew for every container, whatever happens to it.
_OWN = frozenset({"containerID", "startedAt", "finishedAt", "restartCount"})


def without_repeats(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
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
