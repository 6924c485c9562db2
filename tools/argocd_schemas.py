"""Write the schemas of Argo CD's own kinds (`src/whysync/argocd/api/own_kinds.json`) from its CRDs.

    git archive v3.6.0 manifests/crds | tar x -C DIR
    python tools/argocd_schemas.py DIR/manifests/crds

Field names, types and required fields are kept. Descriptions are removed, and parts that occur in many places
(the generators of an ApplicationSet) are written once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.yaml import load

OUT = Path(__file__).parents[1] / "src/whysync/argocd/api/own_kinds.json"
SMALLEST_SHARED = 120


class Shared:
    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.table: Object = {}

    def reduced(self, schema: Json) -> Json:
        if isinstance(schema, list):
            return [self.reduced(child) for child in schema]
        if not isinstance(schema, dict):
            return schema
        out: Object = {}
        for key, value in schema.items():
            if key == "description" and isinstance(value, str):
                continue
            if key == "properties":
                out[key] = {name: self.reduced(child) for name, child in fields(value).items()}
            else:
                out[key] = value if key in ("default", "enum") else self.reduced(value)
        encoded = json.dumps(out, sort_keys=True)
        if out.get("type") != "object" or "properties" not in out or len(encoded) <= SMALLEST_SHARED:
            return out
        if encoded not in self.known:
            self.known[encoded] = str(len(self.known))
            self.table[self.known[encoded]] = out
        return {"$ref": self.known[encoded]}


def main() -> None:
    folder, shared, kinds = Path(sys.argv[1]), Shared(), dict[str, Json]()
    for name in ("application", "applicationset", "appproject"):
        spec = fields(fields(load((folder / f"{name}-crd.yaml").read_bytes())).get("spec"))
        names, version = fields(spec.get("names")), fields(items(spec.get("versions"))[0])
        schema = fields(fields(version.get("schema")).get("openAPIV3Schema"))
        kinds[text(names.get("kind"))] = {"plural": names.get("plural"), "schema": shared.reduced(schema)}
    OUT.write_text(json.dumps({"kinds": kinds, "shared": shared.table}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
