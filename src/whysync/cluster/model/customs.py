"""Custom resources: kinds that a definition in the cluster makes the server serve."""

from __future__ import annotations

from whysync.cluster.model.kinds import Resource
from whysync.contracts.tree import Object, fields, items, text
from whysync.semantics.diff.typed import DEDUCED, Atom, Schemas
from whysync.semantics.schemas import Type


class Custom:
    def __init__(self, resource: Resource, schema: Object, atom: Atom) -> None:
        self.resource = resource
        self.openapi = schema
        self._atom = atom

    @property
    def atom(self) -> Atom:
        return self._atom

    @property
    def schema(self) -> Type | None:
        return None

    def decode(self, body: Object) -> tuple[Object, list[str]]:
        return body, []

    def defaulted(self, obj: Object) -> Object:
        return obj

    def settled(self, obj: Object) -> Object:
        return obj

    def zero(self) -> Object:
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind}


def customs_of(definition: Object) -> list[Custom]:
    spec = fields(definition.get("spec"))
    names = fields(spec.get("names"))
    schemas = Schemas()
    schemas.add_definitions([definition])
    found: list[Custom] = []
    for raw in items(spec.get("versions")):
        version = fields(raw)
        if not version.get("served"):
            continue
        subresources = fields(version.get("subresources"))
        resource = Resource(
            group=text(spec.get("group")),
            version=text(version.get("name")),
            kind=text(names.get("kind")),
            plural=text(names.get("plural")),
            singular=text(names.get("singular")),
            namespaced=spec.get("scope") == "Namespaced",
            status="status" in subresources,
            counted=True,
            scale="scale" in subresources,
            custom=True,
        )
        schema = fields(fields(version.get("schema")).get("openAPIV3Schema"))
        found.append(Custom(resource, schema, schemas.atom(resource.api_version, resource.kind) or DEDUCED))
    return found
