"""Detect renames: the same object under another name or in another namespace.

In Kubernetes a rename is a deletion and a creation: what belonged to the old object (its pods, volumes,
address) is not moved to the new one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Final

from whysync.json_tree import Json, Object, dig, text
from whysync.kubernetes.api.ref import Key

_NEAR: Final = 0.8
_NEAR_NAME: Final = 0.5
_MOST_PAIRS: Final = 40_000
"""Maximum number of comparisons: a commit that replaces thousands of objects is not a rename."""
_MOST_LEAVES: Final = 2_000
_TELLING: Final = 3
"""Number of leaves from which bodies are recognized although they differ; for smaller ones the names must be
similar too.
"""
_HASH: Final = re.compile(r"-[a-z0-9]{10}$")
_Leaves = dict[tuple[str | int, ...], tuple[Json, Json]]
"""Each leaf as written, and without the object's own name."""


def renames(gone: Mapping[Key, Object], made: Mapping[Key, Object]) -> dict[Key, Key]:
    """The old name by new key. Each object is used once; the most similar pairs come first."""
    old = {key: _leaves(body, key.name) for key, body in gone.items()}
    new = {key: _leaves(body, key.name) for key, body in made.items()}
    scored: list[tuple[float, float, Key, Key]] = []
    budget = _MOST_PAIRS
    for key, leaves in new.items():
        for other, before in old.items():
            if (key.group, key.kind) != (other.group, other.kind):
                continue
            budget -= 1
            if budget < 0:
                break
            body = _share(leaves, before)
            hashed = _is_hashed_anew(key.name, other.name)
            if body < _NEAR and not hashed:
                continue
            names = _alike(key.name, other.name)
            telling = len(leaves) >= _TELLING or (body == 1.0 and leaves) or names >= _NEAR_NAME
            if hashed or telling:
                scored.append((body, names, key, other))
    renamed: dict[Key, Key] = {}
    used: set[Key] = set()
    for _, _, key, other in sorted(
        scored, key=lambda scored_pair: (-scored_pair[0], -scored_pair[1], scored_pair[2], scored_pair[3])
    ):
        if key not in renamed and other not in used:
            renamed[key] = other
            used.add(other)
    return renamed


def lost_by_rename(old: Object, new: Object, risk: str) -> str:
    """What is not moved to the new object; `risk` is what is lost with any object of that kind."""
    name = text(dig(new, "metadata", "name"))
    match text(old.get("kind")):
        case "Secret":
            same = all(old.get(part) == new.get(part) for part in ("data", "stringData"))
            return "" if same else risk
        case "StatefulSet":
            return f"its pods stop, its volumes stay behind, and {name} begins with empty ones"
        case "PersistentVolumeClaim":
            return f"its data may be lost with it: {name} begins empty"
        case "Deployment" | "DaemonSet" | "ReplicaSet":
            return f"its pods stop, whether those of {name} are ready or not"
        case "Service":
            return risk or "whoever calls it by that name does not find it any more"
        case _:
            return risk


def _is_hashed_anew(new_name: str, other: str) -> bool:
    """Is it the output of a Kustomize generator with another hash?"""
    stem, before = _HASH.sub("", new_name), _HASH.sub("", other)
    return stem == before and stem != new_name and before != other


def _alike(left: str, other: str) -> float:
    return 1.0 if left == other else difflib.SequenceMatcher(None, left[:100], other[:100]).ratio()


def _share(left: _Leaves, other: _Leaves) -> float:
    """The share of the larger body that is equal at the same place in the other one."""
    if left == other:
        return 1.0
    equal = 0
    for place, (written, nameless) in left.items():
        there = other.get(place)
        equal += there is not None and (written == there[0] or nameless == there[1])
    return equal / max(len(left), len(other), 1)


def _leaves(body: Object, name: str) -> _Leaves:
    """All leaves of an object except its name and namespace.

    Labels and selectors often contain the name, which may or may not be renamed with it.
    """
    leaves: _Leaves = {}
    for place, value in _walk(body):
        if len(leaves) >= _MOST_LEAVES:
            break
        if place[0] in ("apiVersion", "kind", "status") or place[:2] in (
            ("metadata", "name"),
            ("metadata", "namespace"),
        ):
            continue
        leaves[place] = value, _nameless(value, name) if isinstance(value, str) else value
    return leaves


def _nameless(value: str, name: str) -> str:
    """Replace the object's name in a value; a short name only if it is the whole value."""
    if len(name) < 3:
        return "\0" if value == name else value
    return value.replace(name, "\0")


def _walk(body: Object) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """Leaves with their places, without recursion: bodies may be deep."""
    waiting: list[tuple[tuple[str | int, ...], Json]] = [((key,), value) for key, value in body.items()]
    while waiting:
        place, value = waiting.pop()
        if len(place) < 30 and isinstance(value, dict) and value:
            waiting += [((*place, key), item) for key, item in value.items()]
        elif len(place) < 30 and isinstance(value, list) and value:
            waiting += [((*place, number), item) for number, item in enumerate(value)]
        else:
            yield place, value
