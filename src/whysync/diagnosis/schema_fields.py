"""Does the schema of a kind know a field? What it does not know, the API server drops on the way in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.diagnosis.crd_schemas import crd_of
from whysync.json_tree import Json, Missing, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join, split
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.schema import Type, type_of

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_OPEN = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
_ALWAYS = ("apiVersion", "kind", "metadata", "status")


def builtin_knows(ref: Ref, pointer: str) -> bool | None:
    """For kinds of Kubernetes itself, by its API description; `None` for other kinds."""
    at = type_of(ref.api_version, ref.kind)
    if at is None:
        return None
    for part in split(pointer):
        below = _below(at, part)
        if isinstance(below, bool):
            return below
        at = below
    return True


def _below(at: Type, part: str) -> Type | bool:
    """The type one step down; `True` where anything goes, `False` where nothing of that name is known."""
    if at.kind == "struct":
        field = at.struct.fields.get(part) or at.struct.folded.get(part.lower())
        return field.type if field is not None else False
    return at.of if at.kind in ("list", "map") else True


def schema_lacks(case: Case, ref: Ref, pointer: str) -> tuple[Manifest, str] | None:
    """The CRD, and where its schema lacks the field; `None`: it knows it, or nobody can tell."""
    crd = crd_of(case, ref)
    if crd is None or split(pointer)[:1] == () or split(pointer)[0] in _ALWAYS:
        return None
    for index, raw in enumerate(items(crd.spec.get("versions"))):
        if text(fields(raw).get("name")) == ref.version:
            at = f"/spec/versions/{index}/schema/openAPIV3Schema"
            lacking = _lacking(dig(fields(raw), "schema", "openAPIV3Schema"), at, split(pointer))
            return (crd, lacking) if lacking is not None else None
    return None


def schema_knows(case: Case, ref: Ref, pointer: str) -> bool:
    """Is the CRD at hand, with this very field in it?"""
    return crd_of(case, ref) is not None and schema_lacks(case, ref, pointer) is None


def _lacking(schema: Json | Missing, at: str, parts: tuple[str, ...]) -> str | None:
    for part in parts:
        node = fields(schema)
        if not node or any(node.get(mark) is True for mark in _OPEN):
            return None
        if part.isdecimal() and "items" in node:
            schema, at = node["items"], f"{at}/items"
            continue
        known = fields(node.get("properties"))
        more = node.get("additionalProperties")
        if part in known:
            schema, at = known[part], at + join(("properties", part))
        elif more not in (None, False):
            schema, at = more, f"{at}/additionalProperties"
        else:
            return f"{at}/properties"
    return None
