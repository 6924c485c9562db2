"""Is a custom resource as its schema wants it? In the words of the API server.

Mirrors kube-openapi `validation/validate` and apiextensions `validation`, Kubernetes 1.36. What did not
change is not checked again on update, as ratcheting has it. Rules in CEL are not evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from whysync.cluster.model.failures import Cause
from whysync.contracts.tree import MISSING, Json, Missing, Object, fields, integer, items, text
from whysync.semantics.regexes import regex_match

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
        shown = f'"{_kind_of(value, ())}"'
        yield Cause(
            path, f"Invalid value: {shown}: {path} in body must be of type {','.join(kinds)}: {shown}"
        )
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


def _kinds(schema: Object) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    kind = text(schema.get("type"))
    return (kind,) if kind else ()


def _kind_of(value: Json, wanted: tuple[str, ...]) -> str:
    for name, form in _TYPES.items():
        if isinstance(value, form):
            return name
    if value is None:
        return "null"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "number" if "number" in wanted else "integer"
    return "number"


def _enum(value: Json, schema: Object, path: str) -> Iterator[Cause]:
    allowed = items(schema.get("enum"))
    if allowed and value not in allowed:
        told = ", ".join(json.dumps(one) for one in allowed)
        yield Cause(path, f"Unsupported value: {json.dumps(value)}: supported values: {told}")


def _text(value: str, schema: Object, path: str) -> Iterator[Cause]:
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None and len(value) > integer(longest):
        yield Cause(path, f"Too long: may not be more than {integer(longest)} bytes")
    if shortest is not None and len(value) < integer(shortest):
        count = integer(shortest)
        yield Cause(
            path, f"Invalid value: {json.dumps(value)}: {path} in body should be at least {count} chars long"
        )
    pattern = text(schema.get("pattern"))
    if pattern and not _matches(pattern, value):
        yield Cause(path, f"Invalid value: {json.dumps(value)}: {path} in body should match '{pattern}'")


def _matches(pattern: str, value: str) -> bool:
    """A pattern that Python does not read is passed over; one that takes too long does not match."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return True
    return regex_match(pattern, value)


def _number(value: float, schema: Object, path: str) -> Iterator[Cause]:
    least, most = schema.get("minimum"), schema.get("maximum")
    told = f"Invalid value: {json.dumps(value)}: {path} in body should be"
    if isinstance(least, (int, float)):
        if schema.get("exclusiveMinimum") and value <= least:
            yield Cause(path, f"{told} greater than {json.dumps(least)}")
        elif value < least:
            yield Cause(path, f"{told} greater than or equal to {json.dumps(least)}")
    if isinstance(most, (int, float)):
        if schema.get("exclusiveMaximum") and value >= most:
            yield Cause(path, f"{told} less than {json.dumps(most)}")
        elif value > most:
            yield Cause(path, f"{told} less than or equal to {json.dumps(most)}")
    step = schema.get("multipleOf")
    if isinstance(step, (int, float)) and step and value % step:
        yield Cause(path, f"{told} a multiple of {json.dumps(step)}")


def _list(value: list[Json], schema: Object, path: str, old: Json | Missing) -> Iterator[Cause]:
    most, least = schema.get("maxItems"), schema.get("minItems")
    if most is not None and len(value) > integer(most):
        yield Cause(path, f"Too many: {len(value)}: must have at most {integer(most)} items")
    if least is not None and len(value) < integer(least):
        count = integer(least)
        yield Cause(path, f"Invalid value: {len(value)}: {path} in body should have at least {count} items")
    inner = fields(schema.get("items"))
    before = items(old)
    for at, item in enumerate(value):
        was = before[at] if at < len(before) else MISSING
        yield from schema_problems(item, inner, f"{path}[{at}]", was)


def _map(value: Object, schema: Object, path: str, old: Json | Missing) -> Iterator[Cause]:
    for key in items(schema.get("required")):
        if isinstance(key, str) and key not in value:
            yield Cause(_below(path, key), "Required value")
    most = schema.get("maxProperties")
    if most is not None and len(value) > integer(most):
        yield Cause(path, f"Too many: {len(value)}: must have at most {integer(most)} items")
    properties, others = fields(schema.get("properties")), fields(schema.get("additionalProperties"))
    before = fields(old)
    for key in sorted(value):
        inner = fields(properties.get(key)) if key in properties else others
        if inner:
            yield from schema_problems(value[key], inner, _below(path, key), before.get(key, MISSING))


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
