"""Fields and defaults in the schemas of kinds: built-in ones and CustomResourceDefinitions.

The API server drops a field that the schema of its kind does not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.argocd.api.own_kinds import GROUP, own_definitions
from whysync.json_tree import Json, Missing, dig, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.schema import Type, type_of
from whysync.kubernetes.schema.releases import OLDEST, span_at

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.drift import Drift

_OPEN = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
_ALWAYS = ("apiVersion", "kind", "metadata", "status")


def crd_of(case: Case, ref: Ref) -> Manifest | None:
    """The CustomResourceDefinition of this kind, live or in Git."""
    desired = (manifest for manifest in case.desired if manifest.ref.kind == "CustomResourceDefinition")
    for manifest in (*case.live_of_kind("CustomResourceDefinition"), *desired):
        spec = manifest.spec
        if text(spec.get("group")) == ref.group and text(dig(spec, "names", "kind")) == ref.kind:
            return manifest
    return None


def default_in_schema(case: Case, drift: Drift) -> tuple[Manifest, str] | None:
    """The CRD and the pointer of the default, if the live value is the default of the schema."""
    crd = crd_of(case, drift.ref)
    if crd is None:
        return None
    for index, raw in enumerate(items(crd.spec.get("versions"))):
        if text(fields(raw).get("name")) != drift.ref.version:
            continue
        schema: Json | Missing = dig(fields(raw), "schema", "openAPIV3Schema")
        at = f"/spec/versions/{index}/schema/openAPIV3Schema"
        for part in pointers.split(drift.pointer):
            step = ("items",) if part.isdecimal() else ("properties", part)
            schema = dig(schema, *step)
            at += pointers.join(step)
        found = dig(schema, "default")
        if not isinstance(found, Missing) and found == drift.live_value:
            return crd, f"{at}/default"
    return None


def is_field_of_argocd(ref: Ref, pointer: str) -> bool:
    """Does the schema of an Application, ApplicationSet or AppProject have the field, or any field there?"""
    definition = own_definitions().get(ref.kind) if ref.group == GROUP else None
    parts = pointers.split(pointer)
    if definition is None or not parts or parts[0] in _ALWAYS:
        return False
    schema = dig(fields(items(dig(definition, "spec", "versions"))[0]), "schema", "openAPIV3Schema")
    return _missing_at(schema, "", parts) is None


def builtin_has_field(ref: Ref, pointer: str) -> bool | None:
    """Is the field in the API description of a built-in kind? `None` for other kinds."""
    at = type_of(ref.api_version, ref.kind)
    if at is None:
        return None
    for part in pointers.split(pointer):
        below = _below(at, part)
        if isinstance(below, bool):
            return below
        at = below
    return True


def is_newer_field(drift: Drift) -> bool:
    """Has the field of a built-in kind come with a later release? Older API servers drop it."""
    span = span_at(drift.ref.api_version, drift.ref.kind, pointers.split(drift.pointer))
    return span is not None and span.first > OLDEST


def _below(at: Type, part: str) -> Type | bool:
    """The type of a field; `True` if any field is allowed, `False` if there is no such field."""
    if at.kind == "struct":
        field = at.struct.fields.get(part) or at.struct.folded.get(part.lower())
        return field.type if field is not None else False
    return at.of if at.kind in ("list", "map") else True


def missing_in_crd(case: Case, ref: Ref, pointer: str) -> tuple[Manifest, str] | None:
    """The CRD, and the pointer at which its schema lacks the field; `None` if it has it or is unknown."""
    crd = crd_of(case, ref)
    if crd is None or pointers.split(pointer)[:1] == () or pointers.split(pointer)[0] in _ALWAYS:
        return None
    for index, raw in enumerate(items(crd.spec.get("versions"))):
        if text(fields(raw).get("name")) == ref.version:
            at = f"/spec/versions/{index}/schema/openAPIV3Schema"
            missing_at = _missing_at(
                dig(fields(raw), "schema", "openAPIV3Schema"), at, pointers.split(pointer)
            )
            return (crd, missing_at) if missing_at is not None else None
    return None


def crd_has_field(case: Case, ref: Ref, pointer: str) -> bool:
    """Is the CRD available, and does its schema have the field?"""
    return crd_of(case, ref) is not None and missing_in_crd(case, ref, pointer) is None


def _missing_at(schema: Json | Missing, at: str, parts: tuple[str, ...]) -> str | None:
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
            schema, at = known[part], at + pointers.join(("properties", part))
        elif more not in (None, False):
            schema, at = more, f"{at}/additionalProperties"
        else:
            return f"{at}/properties"
    return None
