"""The CustomResourceDefinitions of Application, ApplicationSet and AppProject, Argo CD 3.6.

`tools/argocd_schemas.py` writes `own_kinds.json` from the released CRDs: fields, types and what is required,
without descriptions. None of the three schemas has a default.
"""

from __future__ import annotations

from functools import cache
from typing import cast

import msgspec

from whysync.json_tree import Json, Object, text

GROUP = "argoproj.io"
VERSION = "v1alpha1"


@cache
def own_definitions() -> dict[str, Object]:
    """The CRDs by kind."""
    from importlib.resources import files

    data = files("whysync.argocd.api").joinpath("own_kinds.json").read_bytes()
    tables = cast("dict[str, dict[str, Object]]", msgspec.json.decode(data))
    shared = tables["shared"]
    for schema in shared.values():
        _resolve(schema, shared)
    for definition in tables["kinds"].values():
        _resolve(definition, shared)
    return {kind: _definition(kind, parts) for kind, parts in tables["kinds"].items()}


def _definition(kind: str, parts: Object) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{text(parts['plural'])}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": parts["plural"]},
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": parts["schema"]},
                }
            ],
        },
    }


def _resolve(node: Json, shared: dict[str, Object]) -> None:
    """Expand shared parts, which are stored once."""
    entries = list(node.items()) if isinstance(node, dict) else list(enumerate(cast("list[Json]", node)))
    for key, value in entries:
        if isinstance(value, dict) and isinstance(ref := value.get("$ref"), str):
            cast("dict[object, Json]", node)[key] = shared[ref]
        elif isinstance(value, (dict, list)):
            _resolve(value, shared)
