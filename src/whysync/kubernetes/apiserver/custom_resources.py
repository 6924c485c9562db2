"""Custom resources: kinds that are defined by a CustomResourceDefinition, and their structural schemas.

Mirrors apiextensions-apiserver `schema/pruning` and `schema/defaulting`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.golang.fmt import go_text, go_type
from whysync.json_tree import (
    MISSING,
    Json,
    Missing,
    Object,
    copy,
    copy_object,
    dig,
    fields,
    items,
    text,
)
from whysync.kubernetes.admission.policies import has_rules, rule_problems
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.decoding import BadBody, decode
from whysync.kubernetes.apiserver.resource_kind import cannot_handle, has_same_spec
from whysync.kubernetes.apiserver.schema_validation import (
    NO_FIELD,
    coerced,
    has_embedded,
    has_keyed_lists,
    structure_causes,
    value_causes,
)
from whysync.kubernetes.apiserver.status_errors import Cause
from whysync.kubernetes.merge.structured import DEDUCED, Atom, Schemas
from whysync.kubernetes.schema import Type, type_named

_MAX_CACHED = 4096


class CustomResource:
    """One version of a custom resource, as its definition describes it."""

    def __init__(
        self, resource: Resource, version: Object, stored: Object, atom: Atom, *, terminating: bool
    ) -> None:
        self.resource = resource
        self._stored = stored
        self.openapi = schema_of(version)
        self.scale = fields(fields(version.get("subresources")).get("scale"))
        self.terminating = terminating
        self._atom = atom
        self.versions: dict[str, CustomResource] = {}
        """All versions of the kind that are served, this one among them, by `apiVersion`."""
        self._seen: dict[int, tuple[Object, Object]] = {}
        self._has_rules = has_rules(self.openapi)
        self._has_embedded = has_embedded(self.openapi)
        self._has_structure = self._has_embedded or has_keyed_lists(self.openapi)

    @property
    def atom(self) -> Atom:
        return self._atom

    @property
    def schema(self) -> Type | None:
        return None

    def decode(self, body: Object, live: Object | None = None) -> tuple[Object, list[str]]:
        dropped: list[str] = []
        unchanged = (
            {} if live is None else {key: value for key, value in body.items() if live.get(key) is value}
        )
        changed = {key: value for key, value in body.items() if key not in unchanged}
        in_embedded: list[str] = []
        if self._has_embedded:
            try:
                changed = fields(coerced(changed, self.openapi, "", in_embedded))
            except BadBody as problem:
                raise cannot_handle(self.resource, str(problem)) from None
        known_fields = pruned(changed, self.openapi, "", dropped, root=True)
        obj = fields(without_invalid_nulls(known_fields, self.openapi))
        if unchanged:
            merged = {**obj, **unchanged}
            obj = {key: merged[key] for key in sorted(merged)}
        meta, unknown = self._metadata(fields(body.get("metadata")))
        below = sorted([*in_embedded, *(f'unknown field "{path}"' for path in dropped)])
        warnings = [*unknown, *below]
        return {**obj, "metadata": meta}, warnings

    def _metadata(self, meta: Object) -> tuple[Object, list[str]]:
        """Decoded as the metadata of built-in kinds."""
        try:
            read, unknown = decode({"metadata": meta}, _METADATA_TYPE)
        except BadBody as problem:
            raise cannot_handle(self.resource, str(problem)) from None
        return fields(read.get("metadata")), unknown

    def defaulted(self, obj: Object, live: Object | None = None) -> Object:
        if live is not None and has_same_spec(obj, live) and obj.get("status") is live.get("status"):
            return obj
        new = fields(with_schema_defaults(obj, self.openapi))
        return new if new != obj else obj

    def settled(self, obj: Object, live: Object | None = None) -> Object:  # noqa: ARG002  the Served protocol has it
        """Without the fields that the storage version does not have."""
        if self._stored is self.openapi:
            return obj
        return fields(pruned(obj, self._stored, "", [], root=True))

    def read(self, obj: Object) -> Object:
        """The stored object in this version: defaulted by the storage schema, pruned by this one's."""
        cached = self._seen.get(id(obj))
        if cached is not None and cached[0] is obj:
            return cached[1]
        with_defaults: Object = {
            **fields(with_schema_defaults(obj, self._stored)),
            "apiVersion": self.resource.api_version,
        }
        read = fields(pruned(with_defaults, self.openapi, "", [], root=True))
        if len(self._seen) > _MAX_CACHED:
            self._seen.clear()
        self._seen[id(obj)] = (obj, read)
        return read

    def zero(self) -> Object:
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind}

    def problems(self, obj: Object, old: Object | None) -> list[Cause]:
        new_part, old_part = _validated_part(obj), None if old is None else _validated_part(old)
        causes = [
            *value_causes(new_part, self.openapi, old_part),
            *self._scale_causes(obj),
            *(structure_causes(new_part, self.openapi, old_part) if self._has_structure else ()),
        ]
        if self._has_rules and any(cause.reason in _BLOCKING_REASONS for cause in causes):
            causes.append(Cause(NO_FIELD, f"Invalid value: null: {_RULES_NOT_CHECKED}"))
        else:
            old_value = MISSING if old_part is None else old_part
            causes.extend(rule_problems(new_part, self.openapi, "", old_value))
        return causes

    def _scale_causes(self, obj: Object) -> Iterator[Cause]:
        """Replicas that the `scale` subresource cannot return."""
        for key in ("specReplicasPath", "statusReplicasPath"):
            path = text(self.scale.get(key))
            value = dig(obj, *(name for name in path.split(".") if name)) if path else MISSING
            if isinstance(value, Missing):
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                why = f"accessor error: {go_text(value)} is of the type {go_type(value)}, expected int64"
                yield Cause(path, f"Invalid value: 0: .{path.lstrip('.')} {why}")
            elif value < 0:
                yield Cause(path, f"Invalid value: {value}: should be a non-negative integer")
            elif value > _MAX_REPLICAS:
                why = f"should be less than or equal to {_MAX_REPLICAS}"
                yield Cause(path, f"Invalid value: {value}: {why}")


def _validated_part(obj: Object) -> Object:
    """Schemas and CEL rules see only the names of the metadata."""
    meta = fields(obj.get("metadata"))
    names: Object = {key: meta[key] for key in ("name", "generateName") if key in meta}
    return {**obj, "metadata": names}


def schema_of(version: Object) -> Object:
    return fields(fields(version.get("schema")).get("openAPIV3Schema"))


_METADATA_TYPE = type_named("core/v1.ConfigMap")
_MAX_REPLICAS: Final = (1 << 31) - 1
_BLOCKING_REASONS: Final = frozenset(
    {
        "FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)  # fmt: skip
_RULES_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def custom_resources_of(definition: Object) -> list[CustomResource]:
    spec = fields(definition.get("spec"))
    names = fields(spec.get("names"))
    schemas = Schemas()
    schemas.add_definitions([definition])
    storing = [fields(version) for version in items(spec.get("versions")) if fields(version).get("storage")]
    stored = schema_of(storing[0]) if storing else {}
    if not dig(definition, "status", "acceptedNames", "kind"):
        return []
    terminating = bool(dig(definition, "metadata", "deletionTimestamp"))
    custom_resources: list[CustomResource] = []
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
        custom = CustomResource(resource, version, stored, atom, terminating=terminating)
        custom_resources.append(custom)
    versions = {custom.resource.api_version: custom for custom in custom_resources}
    for custom in custom_resources:
        custom.versions = versions
    return custom_resources


def established(definition: Object, now: str, others: list[Object]) -> Object:
    """The definition with its conditions NamesAccepted and Established."""
    new = copy_object(definition)
    names = fields(dig(new, "spec", "names"))
    used_names = _names_of_other_definitions(definition, others)
    conflicting = {key: text(value) for key, value in names.items() if text(value) in used_names}
    accepted: Object = {key: value for key, value in names.items() if key not in conflicting}
    for key in ("plural", "kind"):
        accepted.setdefault(key, "")
    if conflicting:
        key = "listKind" if "listKind" in conflicting else next(iter(conflicting))
        why = (f"{key[0].upper()}{key[1:]}Conflict", f'"{conflicting[key]}" is already in use')
        rows = (("NamesAccepted", "False", *why), ("Established", "False", "NotAccepted", _NOT_ALL))
    else:
        rows = (
            ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    conditions: list[Json] = [
        {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
        for kind, status, reason, message in rows
    ]
    new["status"] = {**fields(new.get("status")), "conditions": conditions, "acceptedNames": accepted}
    return new


_NOT_ALL = "not all names are accepted"


def _names_of_other_definitions(definition: Object, others: list[Object]) -> set[str]:
    """Names of the same group that other definitions have."""
    names: set[str] = set()
    for other_definition in others:
        same_group = dig(other_definition, "spec", "group") == dig(definition, "spec", "group")
        if same_group and dig(other_definition, "metadata", "name") != dig(definition, "metadata", "name"):
            names.update(
                text(value) for value in fields(dig(other_definition, "status", "acceptedNames")).values()
            )
    return names - {""}


_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_METADATA_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})


def pruned(
    value: Json, schema: Object, path: str, dropped: list[str], *, root: bool = False, preserve: bool = False
) -> Json:
    """The value without the fields that its schema does not specify; their paths are added to `dropped`.

    A list that preserves unknown fields does so for its items (`preserve`).
    """
    preserve = preserve or bool(schema.get(_PRESERVE))
    if isinstance(value, list):
        inner = fields(schema.get("items"))
        if not inner and preserve:
            return value
        return [
            pruned(item, inner, f"{path}[{index}]", dropped, preserve=preserve)
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    properties = fields(schema.get("properties"))
    others = schema.get("additionalProperties")
    is_resource = root or bool(schema.get(_EMBEDDED))
    specified: Object = {}
    for key in sorted(value):
        key_path = f"{path}.{key}" if path else key
        if is_resource and key in _METADATA_FIELDS:
            specified[key] = value[key]
        elif key in properties:
            specified[key] = pruned(value[key], fields(properties[key]), key_path, dropped)
        elif isinstance(others, dict) and others:
            specified[key] = pruned(value[key], others, key_path, dropped)
        elif others is True or preserve:
            specified[key] = value[key]
        else:
            dropped.append(key_path)
    return specified


def without_invalid_nulls(value: Json, schema: Object) -> Json:
    """Drops nulls of fields that are neither nullable nor have a default."""
    return _rebuilt(value, schema, fill=False)


def with_schema_defaults(value: Json, schema: Object) -> Json:
    """Adds defaults; a null of a field that is not nullable is replaced by the default."""
    return _rebuilt(value, schema, fill=True)


def _rebuilt(value: Json, schema: Object, *, fill: bool) -> Json:
    if isinstance(value, list):
        inner = fields(schema.get("items"))
        return [_rebuilt(item, inner, fill=fill) for item in value]
    if not isinstance(value, dict):
        return value
    properties, others = fields(schema.get("properties")), fields(schema.get("additionalProperties"))
    rebuilt: Object = {}
    for key, item in value.items():
        inner = fields(properties.get(key)) if key in properties else others
        if item is None and inner and not inner.get("nullable"):
            has_default = "default" in inner
            if (has_default and key in properties) if fill else not has_default:
                continue
        rebuilt[key] = _rebuilt(item, inner, fill=fill) if inner else item
    for key, raw in properties.items() if fill else ():
        inner = fields(raw)
        if key not in rebuilt and "default" in inner:
            rebuilt[key] = _rebuilt(copy(inner["default"]), inner, fill=True)
    return rebuilt
