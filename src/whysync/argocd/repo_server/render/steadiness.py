"""Does a source render to the same twice? Where it does not, every sync changes something.

Random passwords, times and certificates in templates do it; the fields are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from whysync.argocd.repo_server.render.origin import Origin, RenderedObject
from whysync.argocd.repo_server.render.rendering import RenderedSource
from whysync.json_tree import Json, same
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Key, Ref, ref_of

_MOST_FIELDS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class UnstableField:
    """An object that came out differently; the values themselves may be secret, and are not told."""

    ref: Ref
    origin: Origin
    fields: tuple[str, ...]
    """JSON pointers; empty when the whole object is there only once."""


def rendered_twice(render: Callable[[], RenderedSource]) -> tuple[RenderedSource, tuple[UnstableField, ...]]:
    """Renders again and compares; the caller must not let a cache answer."""
    first = render()
    return first, unsteady(first.objects, render().objects)


def unsteady(first: Sequence[RenderedObject], second: Sequence[RenderedObject]) -> tuple[UnstableField, ...]:
    found: list[UnstableField] = []
    left = _by_key(second)
    unpaired: list[RenderedObject] = []
    for one in first:
        others = left.get(ref_of(one.body).key)
        if not others:
            unpaired.append(one)
            continue
        other = others.pop(0)
        if not same(one.body, other.body):
            found.append(_between(one, other))
    rest = [other for others in left.values() for other in others]
    for one in unpaired:  # a random name: the other of this kind is most likely the same object
        other = next((other for other in rest if _alike(one, other)), None)
        if other is None:
            found.append(UnstableField(ref=ref_of(one.body), origin=one.origin, fields=()))
        else:
            rest.remove(other)
            found.append(_between(one, other))
    found += [UnstableField(ref=ref_of(one.body), origin=one.origin, fields=()) for one in rest]
    return tuple(sorted(found, key=lambda one: one.ref))


def _by_key(rendered: Sequence[RenderedObject]) -> dict[Key, list[RenderedObject]]:
    found: dict[Key, list[RenderedObject]] = {}
    for one in rendered:
        found.setdefault(ref_of(one.body).key, []).append(one)
    return found


def _alike(one: RenderedObject, other: RenderedObject) -> bool:
    mine, theirs = ref_of(one.body), ref_of(other.body)
    return (mine.group, mine.kind, one.origin) == (theirs.group, theirs.kind, other.origin)


def _between(one: RenderedObject, other: RenderedObject) -> UnstableField:
    found: list[str] = []
    for pointer in _differing(one.body, other.body, ""):
        found.append(pointer)
        if len(found) >= _MOST_FIELDS:
            break
    return UnstableField(ref=ref_of(one.body), origin=one.origin, fields=tuple(found))


def _differing(one: Json, other: Json, at: str) -> Iterator[str]:
    if same(one, other):
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            if key not in one or key not in other:
                yield pointers.child(at, key)
            else:
                yield from _differing(one[key], other[key], pointers.child(at, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _differing(mine, theirs, pointers.child(at, index))
    else:
        yield at
