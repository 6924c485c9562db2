"""Find the same field in another copy of an object, whose lists may be ordered differently."""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, same, text
from whysync.kubernetes.api import pointer as pointers

# Fields that identify list elements; the first that an element has is used.
_NAMES = ("name", "key", "mountPath", "containerPort", "port", "host", "ip", "type", "topologyKey")


def moved(pointer: str, known: Object, other: Object) -> str | None:
    """The pointer in `other` to what `pointer` names in `known`; `None` if there is none.

    A field that neither copy has keeps its pointer: it will be added there.
    """
    here: Json | Missing = known
    there: Json | Missing = other
    parts: list[str] = []
    for part in pointers.split(pointer):
        if isinstance(here, list) and isinstance(there, list):
            index = _index(part, here, there)
            if index is None:
                return None
            parts.append(str(index))
            here = pointers.resolve(here, pointers.join([part]))
            there = pointers.resolve(there, pointers.join([str(index)]))
            continue
        parts.append(part)
        here = pointers.resolve(here, pointers.join([part]))
        there = pointers.resolve(there, pointers.join([part]))
    return pointers.join(parts)


def _index(part: str, here: list[Json], there: list[Json]) -> int | None:
    at = pointers.index_of(part)
    if at is None:
        return None
    if at >= len(here):
        return len(there)
    element = here[at]
    fits = [n for n, other in enumerate(there) if _is_same_element(element, other)]
    if len(fits) == 1:
        return fits[0]
    return at if at in fits else None


def _is_same_element(one: Json, other: Json) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return same(one, other)
    for name in _NAMES:
        if name in one:
            return name in other and text(one[name], str(one[name])) == text(other[name], str(other[name]))
    return same(one, other)
