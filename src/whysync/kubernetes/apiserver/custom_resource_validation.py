"""Validation of custom resources by their schema, with the messages of the API server.

Mirrors kube-openapi `validation/validate` and apiextensions `validation`, Kubernetes 1.36. On update,
unchanged values are not validated again (ratcheting). CEL rules are not evaluated here.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from whysync.golang.regexp import regex_match
from whysync.json_tree import MISSING, Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.apiserver.status_errors import Cause

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
