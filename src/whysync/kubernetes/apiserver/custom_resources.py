"""Custom resources: kinds that are defined by a CustomResourceDefinition, and their structural schemas.

Mirrors apiextensions-apiserver `schema/pruning` and `schema/defaulting`, Kubernetes 1.36.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from whysync.golang.regexp import regex_match
from whysync.json_tree import (
    MISSING,
    Json,
    Missing,
    Object,
    copy,
    copy_object,
    dig,
    fields,
    integer,
    items,
    text,
)
from whysync.kubernetes.admission.policies import rule_problems
from whysync.kubernetes.apiserver.builtin_kinds import Resource
from whysync.kubernetes.apiserver.decoding import BadBody, decode
from whysync.kubernetes.apiserver.resource_kind import cannot_handle, has_same_spec
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
        known_fields = pruned(changed, self.openapi, "", dropped, root=True)
        obj = fields(without_invalid_nulls(known_fields, self.openapi))
        if unchanged:
            merged = {**obj, **unchanged}
            obj = {key: merged[key] for key in sorted(merged)}
        meta, unknown = self._metadata(fields(body.get("metadata")))
        warnings = [*unknown, *(f'unknown field "{path}"' for path in sorted(dropped))]
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
        old_value: Json | Missing = MISSING if old is None else _validated_part(old)
        causes = list(schema_problems(_validated_part(obj), self.openapi, "", old_value))
        if not causes:
            causes.extend(rule_problems(_validated_part(obj), self.openapi, "", old_value))
        path = text(self.scale.get("specReplicasPath"))
        replicas = dig(obj, *(key for key in path.split(".") if key)) if path else None
        if isinstance(replicas, int) and replicas < 0:
            causes.append(Cause(path, f"Invalid value: {replicas}: should be a non-negative integer"))
        return causes


def _validated_part(obj: Object) -> Json:
    """Schemas and CEL rules see only the names of the metadata."""
    meta = fields(obj.get("metadata"))
    names: Object = {key: meta[key] for key in ("name", "generateName") if key in meta}
    return {**obj, "metadata": names}


def schema_of(version: Object) -> Object:
    return fields(fields(version.get("schema")).get("openAPIV3Schema"))


_METADATA_TYPE = type_named("core/v1.ConfigMap")


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


def pruned(value: Json, schema: Object, path: str, dropped: list[str], *, root: bool = False) -> Json:
    """The value without the fields that its schema does not specify; their paths are added to `dropped`."""
    if isinstance(value, list):
        inner = fields(schema.get("items"))
        if not inner and schema.get(_PRESERVE):
            return value
        return [pruned(item, inner, f"{path}[{index}]", dropped) for index, item in enumerate(value)]
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
        elif others is True or schema.get(_PRESERVE):
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


# Validation of custom resources by their schema, with the messages of the API server.
#
# Mirrors kube-openapi `validation/validate` and apiextensions `validation`, Kubernetes 1.36. On update,
# unchanged values are not validated again (ratcheting). CEL rules are not evaluated here.


_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "date-time": lambda value: _DATE_TIME.fullmatch(value) is not None,
    "date": lambda value: _DATE.fullmatch(value) is not None,
    "ipv4": lambda value: _is_address(value, 4),
    "ipv6": lambda value: _is_address(value, 6),
    "uuid": lambda value: _UUID.fullmatch(value) is not None,
}
_DATE: Final = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_DATE_TIME: Final = re.compile(
    _DATE.pattern + r"[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)"
)
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
_TYPES: Final = {"object": dict, "array": list, "string": str, "boolean": bool}


def schema_problems(
    value: Json, schema: Object, path: str = "", old: Json | Missing = MISSING
) -> Iterator[Cause]:
    if not isinstance(old, Missing) and old == value:
        return
    if value is None and schema.get("nullable"):
        return
    kinds = _kinds(schema)
    if kinds and _kind_of(value, kinds) not in kinds:
        kind_text = f'"{_kind_of(value, ())}"'
        yield Cause(
            path, f"Invalid value: {kind_text}: {path} in body must be of type {','.join(kinds)}: {kind_text}"
        )
        if kinds == ("integer",) and isinstance(value, float) and _bounded(schema):
            why = f"Checked value must be of type integer (default format) in {path}"
            yield Cause("<nil>", f'Invalid value: "": {why}')
        return
    yield from _enum(value, schema, path)
    if isinstance(value, str):
        yield from _text(value, schema, path)
    elif isinstance(value, bool):
        return
    elif isinstance(value, (int, float)):
        yield from _number(value, schema, path)
    elif isinstance(value, list):
        yield from _list(value, schema, path, old)
    elif isinstance(value, dict):
        yield from _map(value, schema, path, old)


def _bounded(schema: Object) -> bool:
    return any(key in schema for key in ("minimum", "maximum", "multipleOf"))


def _is_address(value: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(value).version == version
    except ValueError:
        return False


def _kinds(schema: Object) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    kind = text(schema.get("type"))
    return (kind,) if kind else ()


def _kind_of(value: Json, allowed: tuple[str, ...]) -> str:
    for name, python_type in _TYPES.items():
        if isinstance(value, python_type):
            return name
    if value is None:
        return "null"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "number" if "number" in allowed else "integer"
    return "number"


def _enum(value: Json, schema: Object, path: str) -> Iterator[Cause]:
    allowed = items(schema.get("enum"))
    if allowed and value not in allowed:
        supported = ", ".join(json.dumps(allowed_value) for allowed_value in allowed)
        yield Cause(path, f"Unsupported value: {json.dumps(value)}: supported values: {supported}")


def _text(value: str, schema: Object, path: str) -> Iterator[Cause]:
    max_length, min_length = schema.get("maxLength"), schema.get("minLength")
    prefix = f"Invalid value: {json.dumps(value)}: {path} in body"
    pattern, form = text(schema.get("pattern")), text(schema.get("format"))
    # Only the first violation of these is reported.
    if max_length is not None and len(value) > integer(max_length):
        yield Cause(path, f"Too long: may not be more than {integer(max_length)} bytes")
    elif min_length is not None and len(value) < integer(min_length):
        yield Cause(path, f"{prefix} should be at least {integer(min_length)} chars long")
    elif pattern and not _matches(pattern, value):
        yield Cause(path, f"{prefix} should match '{pattern}'")
    if form in _FORMATS and not _FORMATS[form](value):
        yield Cause(path, f"{prefix} must be of type {form}: {json.dumps(value)}")


def _matches(pattern: str, value: str) -> bool:
    """A pattern that Python cannot compile matches; one that takes too long does not."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return True
    return regex_match(pattern, value)


def _number(value: float, schema: Object, path: str) -> Iterator[Cause]:
    minimum, maximum = schema.get("minimum"), schema.get("maximum")
    prefix = f"Invalid value: {json.dumps(value)}: {path} in body should be"
    if isinstance(minimum, (int, float)):
        if schema.get("exclusiveMinimum") and value <= minimum:
            yield Cause(path, f"{prefix} greater than {json.dumps(minimum)}")
        elif value < minimum:
            yield Cause(path, f"{prefix} greater than or equal to {json.dumps(minimum)}")
    if isinstance(maximum, (int, float)):
        if schema.get("exclusiveMaximum") and value >= maximum:
            yield Cause(path, f"{prefix} less than {json.dumps(maximum)}")
        elif value > maximum:
            yield Cause(path, f"{prefix} less than or equal to {json.dumps(maximum)}")
    multiple = schema.get("multipleOf")
    if isinstance(multiple, (int, float)) and multiple and value % multiple:
        yield Cause(path, f"{prefix} a multiple of {json.dumps(multiple)}")


def _list(value: list[Json], schema: Object, path: str, old: Json | Missing) -> Iterator[Cause]:
    maximum, minimum = schema.get("maxItems"), schema.get("minItems")
    if maximum is not None and len(value) > integer(maximum):
        yield Cause(path, f"Too many: {len(value)}: must have at most {integer(maximum)} items")
    if minimum is not None and len(value) < integer(minimum):
        count = integer(minimum)
        yield Cause(path, f"Invalid value: {len(value)}: {path} in body should have at least {count} items")
    yield from _duplicates(value, schema, path)
    inner = fields(schema.get("items"))
    old_items = items(old)
    for index, item in enumerate(value):
        old_item = old_items[index] if index < len(old_items) else MISSING
        yield from schema_problems(item, inner, f"{path}[{index}]", old_item)


def _duplicates(value: list[Json], schema: Object, path: str) -> Iterator[Cause]:
    """Duplicate items in `set` lists, and duplicate keys in `map` lists."""
    list_type = schema.get("x-kubernetes-list-type")
    if list_type not in ("set", "map"):
        return
    keys = [text(key) for key in items(schema.get("x-kubernetes-list-map-keys"))]
    seen: list[Json] = []
    for index, item in enumerate(value):
        identity: Json = (
            {key: fields(item).get(key) for key in keys if key in fields(item)}
            if list_type == "map"
            else item
        )
        if identity in seen:
            identity_text = msgspec.json.encode(identity, order="sorted").decode()
            yield Cause(f"{path}[{index}]", f"Duplicate value: {identity_text}")
        seen.append(identity)


def _map(value: Object, schema: Object, path: str, old: Json | Missing) -> Iterator[Cause]:
    for key in items(schema.get("required")):
        if isinstance(key, str) and key not in value:
            yield Cause(_join(path, key), "Required value")
    maximum = schema.get("maxProperties")
    if maximum is not None and len(value) > integer(maximum):
        yield Cause(path, f"Too many: {len(value)}: must have at most {integer(maximum)} items")
    properties, others = fields(schema.get("properties")), fields(schema.get("additionalProperties"))
    old_map = fields(old)
    for key in sorted(value):
        inner = fields(properties.get(key)) if key in properties else others
        if inner:
            yield from schema_problems(value[key], inner, _join(path, key), old_map.get(key, MISSING))


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
