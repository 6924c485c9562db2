"""Which lines of a file contain secrets, so that a diff does not show them on a screen or in a CI log."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.facts.masking.masker import Masker
from whysync.fixes.yaml_edit import Node, unreadable_nodes, written_documents
from whysync.json_tree import Json, copy_object, same
from whysync.kubernetes.api.yaml import Document, documents
from whysync.kubernetes.api.yaml.errors import Invalid


def secret_lines(written: str) -> set[int]:
    """Line numbers from 0. If a file cannot be parsed, all of its lines are secret."""
    written = written.removeprefix("\ufeff")
    everything = set(range(written.count("\n") + 1))
    try:
        nodes = written_documents(written)
    except (unreadable_nodes(), Invalid):
        return everything
    bodies = [d.body for d in documents(written) if isinstance(d, Document) and d.body is not None]
    if len(bodies) != len(nodes):
        return everything
    found: set[int] = set()
    masker = Masker()
    for node, body in zip(nodes, bodies, strict=True):
        if not isinstance(body, dict):
            continue
        masked = masker.mask_object(copy_object(body))
        for path in _changed(body, masked, ()):
            place = _nearest(node, path)
            first = written.count("\n", 0, place.start)
            found.update(range(first, first + written.count("\n", place.start, place.end) + 1))
    return found


def _changed(one: Json, other: Json, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from _changed(one[key], other[key], (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _changed(mine, theirs, (*path, str(number)))
    elif not same(one, other):
        yield path


def _nearest(node: Node, path: tuple[str, ...]) -> Node:
    """The node of the value, or for an alias or a merge key the node that encloses it."""
    while (found := node.at(path)) is None:
        path = path[:-1]
    return found
