"""What the CustomResourceDefinitions at hand say about a field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.json_tree import Json, Missing, dig, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.drift import Drift


def crd_of(case: Case, ref: Ref) -> Manifest | None:
    """The definition of this kind, live or in Git."""
    desired = (manifest for manifest in case.desired if manifest.ref.kind == "CustomResourceDefinition")
    for manifest in (*case.live_of_kind("CustomResourceDefinition"), *desired):
        spec = manifest.spec
        if text(spec.get("group")) == ref.group and text(dig(spec, "names", "kind")) == ref.kind:
            return manifest
    return None


def default_in_schema(case: Case, drift: Drift) -> tuple[Manifest, str] | None:
    """The definition and the pointer of the default, where the schema names the very value that live has."""
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
        if not isinstance(found, Missing) and found == drift.found:
            return crd, f"{at}/default"
    return None
