"""Custom resources: kinds that a definition in the cluster makes the server serve."""

from __future__ import annotations

from whysync.cluster.model.decoding import BadBody, decode
from whysync.cluster.model.failures import Cause
from whysync.cluster.model.kinds import Resource
from whysync.cluster.model.schema_checks import schema_problems
from whysync.cluster.model.served import cannot_handle
from whysync.cluster.model.structural import filled, pruned
from whysync.contracts.tree import MISSING, Json, Missing, Object, copy_object, dig, fields, items, text
from whysync.semantics.diff.typed import DEDUCED, Atom, Schemas
from whysync.semantics.schemas import Type, type_named


class Custom:
    """One version of a custom resource, as its definition describes it."""

    def __init__(self, resource: Resource, version: Object, atom: Atom, *, terminating: bool) -> None:
        self.resource = resource
        self.openapi = fields(fields(version.get("schema")).get("openAPIV3Schema"))
        self.scale = fields(fields(version.get("subresources")).get("scale"))
        self.terminating = terminating
        self.warning = _deprecation(resource, version)
        self._atom = atom

    @property
    def atom(self) -> Atom:
        return self._atom

    @property
    def schema(self) -> Type | None:
        return None

    def decode(self, body: Object) -> tuple[Object, list[str]]:
        gone: list[str] = []
        found = pruned(body, self.openapi, "", gone, root=True)
        obj = fields(found)
        meta, strangers = self._metadata(fields(body.get("metadata")))
        told = [*strangers, *(f'unknown field "{path}"' for path in sorted(gone))]
        return {**obj, "metadata": meta}, told

    def _metadata(self, meta: Object) -> tuple[Object, list[str]]:
        """Metadata has the type that it has everywhere."""
        try:
            read, strangers = decode({"metadata": meta}, _HOLDER)
        except BadBody as problem:
            raise cannot_handle(self.resource, str(problem)) from None
        return fields(read.get("metadata")), strangers

    def defaulted(self, obj: Object) -> Object:
        new = fields(filled(obj, self.openapi))
        return new if new != obj else obj

    def settled(self, obj: Object) -> Object:
        return obj

    def read(self, obj: Object) -> Object:
        """As it leaves the store: pruned and filled by the schema of today."""
        kept: Object = {**obj, "apiVersion": self.resource.api_version}
        return self.defaulted(fields(pruned(kept, self.openapi, "", [], root=True)))

    def zero(self) -> Object:
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind}

    def problems(self, obj: Object, old: Object | None) -> list[Cause]:
        def without_meta(value: Object) -> Json:
            return {key: item for key, item in value.items() if key != "metadata"}

        before: Json | Missing = MISSING if old is None else without_meta(old)
        return list(schema_problems(without_meta(obj), self.openapi, "", before))


_HOLDER = type_named("core/v1.ConfigMap")


def _deprecation(resource: Resource, version: Object) -> str:
    if not version.get("deprecated"):
        return ""
    given = text(version.get("deprecationWarning"))
    return given or f"{resource.api_version} {resource.kind} is deprecated"


def customs_of(definition: Object) -> list[Custom]:
    spec = fields(definition.get("spec"))
    names = fields(spec.get("names"))
    schemas = Schemas()
    schemas.add_definitions([definition])
    terminating = bool(dig(definition, "metadata", "deletionTimestamp"))
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
        atom = schemas.atom(resource.api_version, resource.kind) or DEDUCED
        found.append(Custom(resource, version, atom, terminating=terminating))
    return found


def established(definition: Object, now: str) -> Object:
    """A definition whose names were accepted; from then on its kinds are served."""
    new = copy_object(definition)
    names = fields(dig(new, "spec", "names"))
    status = fields(new.get("status"))
    conditions: list[Json] = [
        {
            "type": "NamesAccepted",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "NoConflicts",
            "message": "no conflicts found",
        },
        {
            "type": "Established",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "InitialNamesAccepted",
            "message": "the initial names have been accepted",
        },
    ]
    accepted: Object = dict(names)
    new["status"] = {**status, "conditions": conditions, "acceptedNames": accepted}
    return new
