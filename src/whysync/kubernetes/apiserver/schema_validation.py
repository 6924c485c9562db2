"""Validation of custom resources by their OpenAPI schemas, with the messages of the API server.

Mirrors kube-openapi `validation/validate` and apiextensions `apiserver/validation`, `schema/objectmeta` and
`schema/listtype`, Kubernetes 1.36. On update, values that did not change are not validated again; the
elements of a list are compared only if it is a `map` list. CEL rules are evaluated in `admission.policies`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from whysync.golang.fmt import printed, quoted, sorted_json
from whysync.golang.regexp import regex_match
from whysync.json_tree import MISSING, Json, Missing, Object, fields, integer, items, json_kind, text
from whysync.kubernetes.apiserver.decoding import BadBody, decode
from whysync.kubernetes.apiserver.schema_formats import STRING_FORMATS
from whysync.kubernetes.apiserver.status_errors import Cause
from whysync.kubernetes.schema import type_named
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import (
    FieldProblem,
    duplicate,
    each,
    invalid,
    required,
    too_many,
)
from whysync.kubernetes.validation.metadata import validate_object_meta_accessor

NO_FIELD: Final = "<nil>"
"""How the server prints the field of an error that has none."""
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_NUMBER_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}
_INT_BOUNDS: Final = {"int32": 1 << 31, "int64": 1 << 63}
_MAX_FLOAT: Final = 3.4028234663852886e38
_PLAIN_TYPES: Final[dict[tuple[type, str], int]] = {(str, "string"): 7, (bool, "boolean"): 6}
"""How many checks pass for a valid value that only has a type."""
_PLAIN_KEYS: Final = frozenset({"type", "description", "title", "default", "example", "nullable"})
_METADATA: Final = type_named("core/v1.ConfigMap").struct.fields["metadata"].type


def value_causes(value: Json, schema: Object, old: Object | None = None) -> Iterator[Cause]:
    """What a schema without its CEL rules rejects, in the order of the server."""
    yield from _Validated(value, schema, "", MISSING if old is None else old).causes


def structure_causes(value: Object, schema: Object, old: Object | None = None) -> Iterator[Cause]:
    """Mistakes in embedded resources, and duplicates in lists that the old object does not have."""
    yield from map(_as_cause, _embedded_problems(value, schema, ""))
    if old is None or not any(_list_problems(old, schema, "")):
        yield from map(_as_cause, _list_problems(value, schema, ""))


def _as_cause(problem: FieldProblem) -> Cause:
    return Cause(problem.path, problem.body, str(problem.kind))


class _Validated:
    """What a schema rejects of a value, and how many checks passed.

    The server counts the checks to choose which alternative of `oneOf` and `anyOf` it reports.
    """

    __slots__ = ("causes", "passed")

    def __init__(
        self, value: Json, schema: Object, path: str, old: Json | Missing, *, alternative: bool = False
    ) -> None:
        self.causes: dict[Cause, None] = {}
        self.passed = 0
        if not alternative and not isinstance(old, Missing) and old == value:
            return
        types, form = _types(schema), _format(schema)
        if value is None:
            self._add(_type_causes(value, types, form, schema, path))
            self.passed = 0 if self.causes else 1
            return
        self.passed = 2  # the schema, and its enum
        if types or form:
            self._check(_type_causes(value, types, form, schema, path), passed=1)
        self._combine(value, schema, path, old)
        if isinstance(value, str):
            self._check(_text_causes(value, schema, path), passed=0)
            if form in STRING_FORMATS:
                self._check(_format_causes(value, form, path), passed=0)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self._add(_number_causes(value, schema, types, form, path))
            self.passed += 2
        elif isinstance(value, list):
            self._validate_list(value, schema, path, old)
        self._add(_enum_causes(value, schema, path))
        if isinstance(value, dict):
            self._validate_map(value, schema, path, old)

    def _add(self, causes: Iterable[Cause]) -> None:
        self.causes.update(dict.fromkeys(causes))

    def _check(self, causes: Iterable[Cause], *, passed: int) -> None:
        before = len(self.causes)
        self._add(causes)
        self.passed += 1 + (passed if len(self.causes) == before else 0)

    def _merge(self, other: _Validated) -> None:
        self._add(other.causes)
        self.passed += other.passed

    def _is_plain(self, value: Json, schema: Object) -> bool:
        """Counts the checks of a text or boolean that only has a type, as most values do."""
        passed = _PLAIN_TYPES.get((value.__class__, text(schema.get("type"))))
        if passed is None or not schema.keys() <= _PLAIN_KEYS:
            return False
        self.passed += passed
        return True

    def _combine(self, value: Json, schema: Object, path: str, old: Json | Missing) -> None:
        """Mirrors `schemaPropsValidator.Validate`."""
        self.passed += 2
        if schema.get("anyOf"):
            self._any_of(_alternatives("anyOf", value, schema, path, old), path)
        if schema.get("oneOf"):
            self._one_of(list(_alternatives("oneOf", value, schema, path, old)), path)
        if schema.get("allOf"):
            self._all_of(list(_alternatives("allOf", value, schema, path, old)), path)
        inverse = schema.get("not")
        if isinstance(inverse, dict) and not _Validated(value, inverse, path, old, alternative=True).causes:
            self._add([_combination_cause(f"{quoted(path)} must not validate the schema (not)")])

    def _any_of(self, alternatives: Iterator[_Validated], path: str) -> None:
        closest: _Validated | None = None
        for alternative in alternatives:
            if not alternative.causes:
                self._merge(alternative)
                return
            if closest is None or alternative.passed > closest.passed:
                closest = alternative
        self._add([_combination_cause(f"{quoted(path)} must validate at least one schema (anyOf)")])
        if closest is not None:
            self._merge(closest)

    def _one_of(self, alternatives: list[_Validated], path: str) -> None:
        valid = [alternative for alternative in alternatives if not alternative.causes]
        if len(valid) == 1:
            self._merge(valid[0])
            return
        count = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        why = f"{quoted(path)} must validate one and only one schema (oneOf). {count}"
        self._add([_combination_cause(why)])
        if not valid:
            self._merge(max(alternatives, key=lambda alternative: alternative.passed))

    def _all_of(self, parts: list[_Validated], path: str) -> None:
        for part in parts:
            self._merge(part)
        valid = sum(not part.causes for part in parts)
        if valid != len(parts):
            none = "" if valid else ". None validated"
            self._add([_combination_cause(f"{quoted(path)} must validate all the schemas (allOf){none}")])

    def _validate_list(self, value: list[Json], schema: Object, path: str, old: Json | Missing) -> None:
        inner = schema.get("items")
        if isinstance(inner, dict):
            old_items = _old_items(schema, old)
            for index, item in enumerate(value):
                if not self._is_plain(item, inner):
                    old_item = old_items.get(_identity(item, schema), MISSING) if old_items else MISSING
                    self._merge(_Validated(item, inner, f"{path}[{index}]", old_item))
        minimum, maximum = schema.get("minItems"), schema.get("maxItems")
        if minimum is not None and len(value) < integer(minimum):
            why = f"{path} in body should have at least {integer(minimum)} items"
            self._add([Cause(path, f"Invalid value: {len(value)}: {why}")])
        if maximum is not None and len(value) > integer(maximum):
            self._add([_as_cause(too_many(path, len(value), integer(maximum)))])
        self.passed += 2

    def _validate_map(self, value: Object, schema: Object, path: str, old: Json | Missing) -> None:
        minimum, maximum = schema.get("minProperties"), schema.get("maxProperties")
        if minimum is not None and len(value) < integer(minimum):
            why = f"{path} in body should have at least {integer(minimum)} properties"
            self._add([Cause(path, f"Invalid value: {len(value)}: {why}")])
        if maximum is not None and len(value) > integer(maximum):
            self._add([_as_cause(too_many(path, len(value), integer(maximum)))])
        properties, others = fields(schema.get("properties")), schema.get("additionalProperties")
        old_map = fields(old)
        for key in sorted(value):
            inner = properties.get(key) if key in properties else others
            if isinstance(inner, dict) and not self._is_plain(value[key], inner):
                self._merge(_Validated(value[key], inner, _join(path, key), old_map.get(key, MISSING)))
        self._add(
            Cause(_join(path, key), "Required value")
            for key in items(schema.get("required"))
            if isinstance(key, str) and key not in value
        )
        self.passed += 1


def _alternatives(
    key: str, value: Json, schema: Object, path: str, old: Json | Missing
) -> Iterator[_Validated]:
    for alternative in items(schema.get(key)):
        yield _Validated(value, fields(alternative), path, old, alternative=True)


def _combination_cause(why: str) -> Cause:
    return Cause(NO_FIELD, f'Invalid value: "": {why}')


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _types(schema: Object) -> tuple[str, ...]:
    if schema.get(_INT_OR_STRING):
        return ("integer", "string")
    kind = text(schema.get("type"))
    return (kind,) if kind else ()


def _format(schema: Object) -> str:
    """The format, unless the server ignores it for this type."""
    form, types = text(schema.get("format")), _types(schema)
    if not form:
        return ""
    kind = types[0] if len(types) == 1 else "string"
    supported = STRING_FORMATS if kind == "string" else _NUMBER_FORMATS.get(kind, ())
    return form if form in supported else ""


def _type_causes(
    value: Json, types: tuple[str, ...], form: str, schema: Object, path: str
) -> Iterator[Cause]:
    """Mirrors `typeValidator.Validate`."""
    if value is None:
        if types and not schema.get("nullable"):
            yield _type_cause(path, ",".join(types), "null")
        return
    kind, go_format = _kind_of(value)
    is_number = "number" in types or "integer" in types
    fits = kind in types or (kind == "integer" and "number" in types)
    fits = fits or ("integer" in types and isinstance(value, float) and value.is_integer())
    is_text_or_list = isinstance(value, (str, list))
    if form and not is_text_or_list and not fits and form != go_format:
        yield _type_cause(path, form, go_format)
    elif not (form and not is_number and is_text_or_list) and not fits:
        yield _type_cause(path, ",".join(types), kind)


def _type_cause(path: str, expected: str, actual: str) -> Cause:
    return Cause(path, f'Invalid value: "{actual}": {path} in body must be of type {expected}: "{actual}"')


def _kind_of(value: Json) -> tuple[str, str]:
    """The JSON type of a value, and the format that the server infers from its Go type."""
    match value:
        case bool():
            return "boolean", ""
        case int():
            return "integer", "int64"
        case float():
            return "number", "float64"
        case str():
            return "string", ""
        case list():
            return "array", ""
        case _:
            return "object", ""


def _enum_causes(value: Json, schema: Object, path: str) -> Iterator[Cause]:
    allowed = items(schema.get("enum"))
    if allowed and value not in allowed:
        supported = ", ".join(
            quoted(item if isinstance(item, str) else sorted_json(item)) for item in allowed
        )
        yield Cause(path, f"Unsupported value: {_printed(value)}: supported values: {supported}")


def _text_causes(value: str, schema: Object, path: str) -> Iterator[Cause]:
    """Only the first violation is reported."""
    max_length, min_length = schema.get("maxLength"), schema.get("minLength")
    prefix = f"Invalid value: {quoted(value)}: {path} in body"
    pattern = text(schema.get("pattern"))
    if max_length is not None and len(value) > integer(max_length):
        yield Cause(path, f"Too long: may not be more than {integer(max_length)} bytes")
    elif min_length is not None and len(value) < integer(min_length):
        yield Cause(path, f"{prefix} should be at least {integer(min_length)} chars long")
    elif pattern and not _matches(pattern, value):
        yield Cause(path, f"{prefix} should match '{pattern}'")


def _format_causes(value: str, form: str, path: str) -> Iterator[Cause]:
    if not STRING_FORMATS[form](value):
        value_text = quoted(value)
        yield Cause(path, f"Invalid value: {value_text}: {path} in body must be of type {form}: {value_text}")


def _matches(pattern: str, value: str) -> bool:
    """A pattern that Python cannot compile matches; one that takes too long does not."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return True
    return regex_match(pattern, value)


def _number_causes(
    value: float, schema: Object, types: tuple[str, ...], form: str, path: str
) -> Iterator[Cause]:
    """Mirrors `numberValidator.Validate`."""
    kind = types[0] if len(types) == 1 else ""
    yield from _range_causes(value, kind, form, "Checked", path)
    yield from _multiple_causes(value, schema, kind, form, path)
    minimum, maximum = schema.get("minimum"), schema.get("maximum")
    prefix = f"Invalid value: {_printed(value)}: {path} in body should be"
    if isinstance(minimum, (int, float)):
        yield from _range_causes(minimum, kind, form, "Minimum boundary", path)
        minimum = int(minimum) if isinstance(value, int) else minimum
        if schema.get("exclusiveMinimum") and value <= minimum:
            yield Cause(path, f"{prefix} greater than {_printed(minimum)}")
        elif value < minimum:
            yield Cause(path, f"{prefix} greater than or equal to {_printed(minimum)}")
    if isinstance(maximum, (int, float)):
        yield from _range_causes(maximum, kind, form, "Maximum boundary", path)
        maximum = int(maximum) if isinstance(value, int) else maximum
        if schema.get("exclusiveMaximum") and value >= maximum:
            yield Cause(path, f"{prefix} less than {_printed(maximum)}")
        elif value > maximum:
            yield Cause(path, f"{prefix} less than or equal to {_printed(maximum)}")


def _multiple_causes(value: float, schema: Object, kind: str, form: str, path: str) -> Iterator[Cause]:
    factor = schema.get("multipleOf")
    if not isinstance(factor, (int, float)):
        return
    yield from _range_causes(factor, kind, form, "MultipleOf", path)
    factor = int(factor) if isinstance(value, int) else factor
    if factor <= 0:
        why = f"factor MultipleOf declared for {path} must be positive: {_printed(factor)}"
        yield Cause(path, f"Invalid value: {_printed(factor)}: {why}")
    elif not (1 / factor * value if factor < 1 else value / factor).is_integer():
        why = f"{path} in body should be a multiple of {_printed(factor)}"
        yield Cause(path, f"Invalid value: {_printed(value)}: {why}")


def _range_causes(value: float, kind: str, form: str, prefix: str, path: str) -> Iterator[Cause]:
    """The value, or a limit of the schema, does not fit into the type that the schema names."""
    if kind == "integer":
        bound = _INT_BOUNDS.get(form, _INT_BOUNDS["int64"])
        fits = float(value).is_integer() and -bound <= value < bound
    else:
        fits = form != "float" or abs(value) <= _MAX_FLOAT
    if not fits:
        form_text = f"with format {form}" if form else "(default format)"
        yield _combination_cause(f"{prefix} value must be of type {kind} {form_text} in {path}")


def _printed(value: Json) -> str:
    """A value as `field.Error` prints it: numbers without a needless fraction."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return sorted_json(value) if isinstance(value, (dict, list)) else printed(value)


# Elements of lists with keys.


def has_keyed_lists(schema: Object) -> bool:
    """Does the schema have lists in which no element may occur twice?"""
    if schema.get(_LIST_TYPE) in ("set", "map"):
        return True
    others = (schema.get("items"), schema.get("additionalProperties"))
    children = (*fields(schema.get("properties")).values(), *others)
    return any(has_keyed_lists(child) for child in children if isinstance(child, dict))


def _identity(item: Json, schema: Object) -> str:
    keys: Object = {
        key: fields(item)[key] for key in map(text, items(schema.get(_LIST_KEYS))) if key in fields(item)
    }
    return sorted_json(keys)


def _old_items(schema: Object, old: Json | Missing) -> dict[str, Json]:
    if schema.get(_LIST_TYPE) != "map":
        return {}
    return {_identity(item, schema): item for item in items(old)}


def _list_problems(value: Json, schema: Object, path: str) -> Iterator[FieldProblem]:
    """Duplicates in `set` and `map` lists."""
    if isinstance(value, dict):
        properties, others = fields(schema.get("properties")), schema.get("additionalProperties")
        for key in sorted(value):
            inner = properties.get(key, others)
            if isinstance(inner, dict):
                inner_path = _join(path, key) if key in properties else f"{path}[{key}]"
                yield from _list_problems(value[key], inner, inner_path)
    elif isinstance(value, list):
        yield from _duplicates(value, schema, path)
        for index, item in enumerate(value):
            yield from _list_problems(item, fields(schema.get("items")), f"{path}[{index}]")


def _duplicates(value: list[Json], schema: Object, path: str) -> Iterator[FieldProblem]:
    kind = schema.get(_LIST_TYPE)
    if kind not in ("set", "map"):
        return
    if kind == "map":
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                why = "must be an object for an array of list-type map"
                yield invalid(f"{path}[{index}]", item, why)
                return
    seen: dict[str, int] = {}
    for index, item in enumerate(value):
        identity = _identity(item, schema) if kind == "map" else sorted_json(item)
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:
            keys: Json = {
                key: fields(item)[key]
                for key in sorted(map(text, items(schema.get(_LIST_KEYS))))
                if key in fields(item)
            }
            yield duplicate(f"{path}[{index}]", keys if kind == "map" else item)


# Resources inside resources.


def _embedded_problems(value: Json, schema: Object, path: str) -> Iterator[FieldProblem]:
    """Mirrors `objectmeta.Validate`."""
    if isinstance(value, dict):
        if schema.get(_EMBEDDED):
            yield from _resource_problems(value, path)
        properties, others = fields(schema.get("properties")), schema.get("additionalProperties")
        for key in sorted(value):
            inner = properties.get(key, others)
            if isinstance(inner, dict):
                inner_path = _join(path, key) if key in properties else f"{path}[{key}]"
                yield from _embedded_problems(value[key], inner, inner_path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _embedded_problems(item, fields(schema.get("items")), f"{path}[{index}]")


def has_embedded(schema: Object) -> bool:
    """Does the schema, or a schema in it, describe an embedded resource?"""
    if schema.get(_EMBEDDED):
        return True
    others = (schema.get("items"), schema.get("additionalProperties"))
    children = (*fields(schema.get("properties")).values(), *others)
    return any(has_embedded(child) for child in children if isinstance(child, dict))


def coerced(value: Json, schema: Object, path: str, unknown_fields: list[str]) -> Json:
    """The value with decoded embedded metadata; raises `BadBody`. Mirrors `objectmeta.Coerce`."""
    if isinstance(value, list):
        inner = fields(schema.get("items"))
        return [coerced(item, inner, f"{path}[{index}]", unknown_fields) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    new = dict(value)
    if schema.get(_EMBEDDED):
        for key in ("apiVersion", "kind"):
            if key in value and not isinstance(value[key], str):
                raise BadBody(str(invalid(f"{path}.{key}", value[key], "must be a string")))
        if "metadata" in value:
            new["metadata"] = _coerced_metadata(value["metadata"], f"{path}.metadata", unknown_fields)
    properties, others = fields(schema.get("properties")), schema.get("additionalProperties")
    for key, item in new.items():
        inner = properties.get(key, others)
        if isinstance(inner, dict) and isinstance(item, (dict, list)):
            inner_path = _join(path, key) if key in properties else f"{path}[{key}]"
            new[key] = coerced(item, inner, inner_path, unknown_fields)
    return new


def _coerced_metadata(value: Json, path: str, unknown_fields: list[str]) -> Json:
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {json_kind(value)} into Go value of type v1.ObjectMeta"
        raise BadBody(str(invalid(path, value, why)))
    try:
        meta, unknown = decode(value, _METADATA)
    except BadBody as problem:
        raise BadBody(str(invalid(path, value, str(problem)))) from None
    unknown_fields.extend(problem.replace('"', f'"{path}.', 1) for problem in unknown)
    return {key: item for key, item in meta.items() if item is not None}


def _resource_problems(value: Object, path: str) -> Iterator[FieldProblem]:
    for key in ("apiVersion", "kind"):
        if key not in value:
            yield required(f"{path}.{key}")
        elif not value[key]:
            yield invalid(f"{path}.{key}", "", "must not be empty")
    version, kind = text(value.get("apiVersion")), text(value.get("kind"))
    if version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if kind:
        mistakes = ",".join(names.dns_1035_label(kind.lower()))
        if mistakes:
            why = f"may have mixed case, but should otherwise match: {mistakes}"
            yield from each(f"{path}.kind", kind, [why])
    if "metadata" in value:
        yield from _metadata_problems(value["metadata"], f"{path}.metadata")


def _metadata_problems(value: Json, path: str) -> Iterator[FieldProblem]:
    meta = fields(value)
    named: Object = {"metadata": {**meta, "name": meta.get("name") or "fakename"}}
    for problem in validate_object_meta_accessor(named, names.path_segment):
        yield FieldProblem(
            problem.kind, path + problem.path.removeprefix("metadata"), problem.value, problem.detail
        )
