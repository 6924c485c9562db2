"""Validate each object against the schema of its kind, if the file should contain complete objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from whysync.json_tree import Json, Missing
from whysync.kubernetes.api.pointer import resolve
from whysync.manifests.encrypted import is_encrypted
from whysync.manifests.files import Item, Part
from whysync.manifests.schemas.built_in import built_in_violations, field_violations, is_built_in
from whysync.manifests.schemas.custom import Definitions, custom_violations
from whysync.manifests.schemas.violation import SchemaViolation, ViolationKind

_PLACEHOLDERS = ("${", "$(", "{{", "<", "@@", "%%", "...")
_UPPER_CASE = re.compile(r"[A-Z_]{4,}")
_BRACED = re.compile(r"\{[A-Z][A-Z0-9_]*\}|<[A-Z][A-Z0-9_-]+>")


def schema_violations(
    objects: Iterable[Item], definitions: Definitions, release: int
) -> Iterator[tuple[Item, SchemaViolation]]:
    cache = definitions.violations_by_body
    for item in objects:
        if item.ref.kind == "CustomResourceDefinition" and item.file.part is Part.MANIFESTS:
            # Large, and often the same in several places.
            same = msgspec.json.encode(item.body)
            if same not in cache:
                cache[same] = _violations_of(item, definitions, release)
            violations = cache[same]
        else:
            violations = _violations_of(item, definitions, release)
        for violation in violations:
            if not _is_placeholder(item, violation):
                yield item, violation


def _violations_of(item: Item, definitions: Definitions, release: int) -> list[SchemaViolation]:
    ref = item.ref
    if is_built_in(ref.api_version, ref.kind):
        if item.file.part is not Part.MANIFESTS:
            return _violations_of_patch(item, release)
        violations = built_in_violations(item.body, ref.api_version, ref.kind, release)
    elif item.file.part is Part.MANIFESTS:
        violations = custom_violations(
            item.body, definitions.of(ref.group, ref.version, ref.kind, item.file.path)
        )
    else:
        return []
    if item.kustomized:  # an overlay may add what is missing
        return [v for v in violations if v.how is not ViolationKind.REJECTED or not _may_be_completed(v)]
    return violations


def _may_be_completed(violation: SchemaViolation) -> bool:
    """Kustomize adds fields, sets names and namespaces, and adds labels to selectors and templates."""
    message = violation.text  # the API server's
    return (
        "Required value" in message or "does not match template" in message or message.startswith("metadata.")
    )


def _violations_of_patch(item: Item, release: int) -> list[SchemaViolation]:
    """A patch has the fields of the object, and directives."""
    violations = field_violations(item.body, item.ref.api_version, item.ref.kind, release)
    return [v for v in violations if v.how is ViolationKind.UNKNOWN and "/$" not in v.pointer]


def _is_placeholder(item: Item, violation: SchemaViolation) -> bool:
    """Is it a placeholder or an encrypted value, which is replaced before it is applied?"""
    if violation.how is ViolationKind.UNKNOWN:
        return any(mark in violation.pointer for mark in _PLACEHOLDERS)
    value = violation.text.partition("Invalid value: ")[2].partition(":")[0]
    if "RFC 1" in violation.text and _UPPER_CASE.search(value):
        return True  # a name such as REPLACEME
    if any(mark in violation.text for mark in _PLACEHOLDERS[:3]) or _BRACED.search(value):
        return True
    return _has_placeholder(resolve(item.body, violation.pointer))


def _has_placeholder(value: Json | Missing) -> bool:
    if isinstance(value, str):
        return (
            any(mark in value for mark in _PLACEHOLDERS)
            or _BRACED.search(value) is not None
            or is_encrypted(value)
        )
    if isinstance(value, dict):
        return any(_has_placeholder(element) for element in value.values())
    return isinstance(value, list) and any(map(_has_placeholder, value))
