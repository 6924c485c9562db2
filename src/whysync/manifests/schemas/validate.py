"""Validate each object against the schema of its kind, if the file should contain complete objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from whysync.json_tree import Json, Missing
from whysync.kubernetes.api.pointer import resolve
from whysync.manifests.files import Item, Part
from whysync.manifests.schemas.built_in import built_in_misfits, field_misfits, is_built_in
from whysync.manifests.schemas.custom import Definitions, custom_misfits
from whysync.manifests.schemas.violation import SchemaViolation, ViolationKind

_LEFT_OPEN = ("${", "$(", "{{", "<", "@@", "%%", "...")
_SHOUTED = re.compile(r"[A-Z_]{4,}")
_BRACED = re.compile(r"\{[A-Z][A-Z0-9_]*\}")


def judged(
    objects: Iterable[Item], definitions: Definitions, release: int
) -> Iterator[tuple[Item, SchemaViolation]]:
    known = definitions.judged
    for item in objects:
        if item.ref.kind == "CustomResourceDefinition" and item.file.part is Part.MANIFESTS:
            # Large, and often the same in several places.
            same = msgspec.json.encode(item.body)
            if same not in known:
                known[same] = _of(item, definitions, release)
            found = known[same]
        else:
            found = _of(item, definitions, release)
        for misfit in found:
            if not _is_left_open(item, misfit):
                yield item, misfit


def _of(item: Item, definitions: Definitions, release: int) -> list[SchemaViolation]:
    ref = item.ref
    if is_built_in(ref.api_version, ref.kind):
        if item.file.part is not Part.MANIFESTS:
            return _of_a_piece(item, release)
        found = built_in_misfits(item.body, ref.api_version, ref.kind, release)
    elif item.file.part is Part.MANIFESTS:
        found = custom_misfits(item.body, definitions.of(ref.group, ref.version, ref.kind))
    else:
        return []
    if item.kustomized:  # an overlay may add what is missing
        return [one for one in found if one.how is not ViolationKind.REFUSED or not _is_completed(one)]
    return found


def _is_completed(misfit: SchemaViolation) -> bool:
    """Kustomize adds fields, sets names and namespaces, and adds labels to selectors and templates."""
    said = misfit.text
    return "Required value" in said or "does not match template" in said or said.startswith("metadata.")


def _of_a_piece(item: Item, release: int) -> list[SchemaViolation]:
    """A patch has the fields of the object, and directives."""
    found = field_misfits(item.body, item.ref.api_version, item.ref.kind, release)
    return [one for one in found if one.how is ViolationKind.UNKNOWN and "/$" not in one.pointer]


def _is_left_open(item: Item, misfit: SchemaViolation) -> bool:
    """Is it a placeholder that is replaced before it is applied?"""
    if misfit.how is ViolationKind.UNKNOWN:
        return any(mark in misfit.pointer for mark in _LEFT_OPEN)
    given = misfit.text.partition("Invalid value: ")[2].partition(":")[0]
    if "RFC 1" in misfit.text and _SHOUTED.search(given):
        return True  # a name such as REPLACEME
    if any(mark in misfit.text for mark in _LEFT_OPEN[:3]):
        return True
    return _holds_placeholder(resolve(item.body, misfit.pointer))


def _holds_placeholder(value: Json | Missing) -> bool:
    if isinstance(value, str):
        return any(mark in value for mark in _LEFT_OPEN) or _BRACED.search(value) is not None
    if isinstance(value, dict):
        return any(_holds_placeholder(one) for one in value.values())
    return isinstance(value, list) and any(map(_holds_placeholder, value))
