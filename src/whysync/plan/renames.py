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
_MAX_PAIRS: Final = 40_000
"""Maximum number of comparisons: a commit that replaces thousands of objects is not a rename."""
_MAX_LEAVES: Final = 2_000
_DISTINCTIVE: Final = 3
"""Number of leaves from which bodies are recognized although they differ; for smaller ones the names must be
similar too.
"""
_HASH: Final = re.compile(r"-[a-z0-9]{10}$")
_Leaves = dict[tuple[str | int, ...], tuple[Json, Json]]
"""Each leaf as written, and without the object's own name."""


def renames(removed: Mapping[Key, Object], created: Mapping[Key, Object]) -> dict[Key, Key]:
    """The old key by new key. Each object is used once; the most similar pairs come first."""
    old = {key: _leaves(similarity, key.name) for key, similarity in removed.items()}
    new = {key: _leaves(similarity, key.name) for key, similarity in created.items()}
    scored: list[tuple[float, float, Key, Key]] = []
    budget = _MAX_PAIRS
    for key, leaves in new.items():
        for old_key, old_leaves in old.items():
            if (key.group, key.kind) != (old_key.group, old_key.kind):
                continue
            budget -= 1
            if budget < 0:
                break
            similarity = _body_similarity(leaves, old_leaves)
            new_hash = has_new_hash(key.name, old_key.name)
            if similarity < _NEAR and not new_hash:
                continue
            name_similarity = _name_similarity(key.name, old_key.name)
            distinctive = (
                len(leaves) >= _DISTINCTIVE or (similarity == 1.0 and leaves) or name_similarity >= _NEAR_NAME
            )
            if new_hash or distinctive:
                scored.append((similarity, name_similarity, key, old_key))
    renamed: dict[Key, Key] = {}
    used: set[Key] = set()
    for _, _, key, old_key in sorted(
        scored, key=lambda scored_pair: (-scored_pair[0], -scored_pair[1], scored_pair[2], scored_pair[3])
    ):
        if key not in renamed and old_key not in used:
            renamed[key] = old_key
            used.add(old_key)
    return renamed


def lost_by_rename(old: Object, new: Object, risk: str) -> str:
    """What is not moved to the new object; `risk` is what is lost with any object of that kind."""
    name = text(dig(new, "metadata", "name"))
    match text(old.get("kind")):
        case "Secret":
            same = all(old.get(field) == new.get(field) for field in ("data", "stringData"))
            return "" if same else risk
        case "StatefulSet":
            return f"its pods stop, its volumes are kept but not used, and {name} starts with empty ones"
        case "PersistentVolumeClaim":
            return f"its data may be lost with it: {name} starts empty"
        case "Deployment" | "DaemonSet" | "ReplicaSet":
            return f"its pods stop, whether those of {name} are ready or not"
        case "Service":
            return risk or "clients that use the old name no longer reach it"
        case _:
            return risk


def has_new_hash(new_name: str, old_name: str) -> bool:
    """Are these names of one Kustomize generator with different hashes?"""
    new_stem, old_stem = _HASH.sub("", new_name), _HASH.sub("", old_name)
    return new_stem == old_stem and new_stem != new_name and old_stem != old_name


def _name_similarity(left: str, right: str) -> float:
    return 1.0 if left == right else difflib.SequenceMatcher(None, left[:100], right[:100]).ratio()


def _body_similarity(left: _Leaves, right: _Leaves) -> float:
    """The share of the larger body that is equal at the same place in the other one."""
    if left == right:
        return 1.0
    equal = 0
    for path, (value, nameless) in left.items():
        leaf = right.get(path)
        equal += leaf is not None and (value == leaf[0] or nameless == leaf[1])
    return equal / max(len(left), len(right), 1)


def _leaves(body: Object, name: str) -> _Leaves:
    """All leaves of an object except its name and namespace.

    Labels and selectors often contain the name, which may or may not be renamed with it.
    """
    leaves: _Leaves = {}
    for path, value in _walk(body):
        if len(leaves) >= _MAX_LEAVES:
            break
        if path[0] in ("apiVersion", "kind", "status") or path[:2] in (
            ("metadata", "name"),
            ("metadata", "namespace"),
        ):
            continue
        leaves[path] = value, _nameless(value, name) if isinstance(value, str) else value
    return leaves


def _nameless(value: str, name: str) -> str:
    """Replace the object's name in a value; a short name only if it is the whole value."""
    if len(name) < 3:
        return "\0" if value == name else value
    return value.replace(name, "\0")


def _walk(body: Object) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """Leaves with their places, without recursion: bodies may be deep."""
    queue: list[tuple[tuple[str | int, ...], Json]] = [((key,), value) for key, value in body.items()]
    while queue:
        path, value = queue.pop()
        if len(path) < 30 and isinstance(value, dict) and value:
            queue += [((*path, key), item) for key, item in value.items()]
        elif len(path) < 30 and isinstance(value, list) and value:
            queue += [((*path, number), item) for number, item in enumerate(value)]
        else:
            yield path, value
