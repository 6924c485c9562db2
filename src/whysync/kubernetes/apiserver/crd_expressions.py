"""CEL rules, patterns and defaults of a CustomResourceDefinition: syntax, types, estimated cost, validity.

Mirrors the part of apiextensions `validation` for `x-kubernetes-validations`, `pattern` and `default`,
Kubernetes 1.36.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from whysync.golang.regexp_syntax import regex_problem
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.schema_validation import NO_FIELD, value_causes
from whysync.kubernetes.apiserver.status_errors import Cause
from whysync.kubernetes.cel.schema_types import LARGEST, shape_of
from whysync.kubernetes.cel.type_check import MOST, check_expression
from whysync.kubernetes.validation.crd_schemas import shared_schema

_RULES: Final = "x-kubernetes-validations"
_RULE_LIMIT: Final = 10_000_000
_TOTAL_LIMIT: Final = 100_000_000
_MOST_REPORTED: Final = 4
_DEEPEST: Final = 60


class _Position(NamedTuple):
    path: str
    cardinality: int | None = 1
    """The maximum number of values of this schema in an object; `None` if unbounded."""
    uncorrelatable: str = ""
    """The path of the list or map whose items cannot be matched with those of the old object."""
    depth: int = 0


class _Costs:
    def __init__(self) -> None:
        self.total = 0
        self.most_expensive: list[tuple[int, str]] = []


def definition_problems(definition: Object) -> list[Cause]:
    versions = [fields(version) for version in items(dig(definition, "spec", "versions"))]
    shared = shared_schema(versions)
    if shared is not None:
        return list(_schema_problems(shared, "spec.validation.openAPIV3Schema"))
    causes: list[Cause] = []
    for index, version in enumerate(versions):
        schema = fields(dig(version, "schema", "openAPIV3Schema"))
        causes.extend(_schema_problems(schema, f"spec.versions[{index}].schema.openAPIV3Schema"))
    return causes


def _schema_problems(schema: Object, path: str) -> Iterator[Cause]:
    problems = [*_pattern_problems(schema, path, 0), *_default_problems(schema, path, 0)]
    yield from problems
    if problems:
        return
    costs = _Costs()
    yield from _rule_problems(schema, _Position(path), costs, root=True)
    if costs.total > _TOTAL_LIMIT:
        for _, rule_path in sorted(costs.most_expensive, key=lambda entry: -entry[0])[:_MOST_REPORTED]:
            reason = (
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            )
            yield Cause(rule_path, f"Forbidden: {reason}")
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield Cause(path, f"Forbidden: {_exceeds_budget(name, costs.total, _TOTAL_LIMIT)}")


def _pattern_problems(schema: Object, path: str, depth: int) -> Iterator[Cause]:
    if depth > _DEEPEST:
        return
    pattern = text(schema.get("pattern"))
    problem = regex_problem(pattern) if pattern else ""
    if problem:
        reason = f"must be a valid regular expression, but isn't: error parsing regexp: {problem}"
        yield Cause(f"{path}.pattern", f"Invalid value: {json.dumps(pattern, ensure_ascii=False)}: {reason}")
    for inner, child_path in _children(schema, path):
        yield from _pattern_problems(inner, child_path, depth + 1)


def _default_problems(schema: Object, path: str, depth: int) -> Iterator[Cause]:
    """Defaults that their own schema rejects."""
    if depth > _DEEPEST:
        return
    default = schema.get("default")
    if default is not None:
        for cause in value_causes(default, schema):
            below = "" if cause.field in ("", NO_FIELD) else f".{cause.field}"
            yield cause._replace(field=f"{path}.default{below}")
    for inner, child_path in _children(schema, path):
        yield from _default_problems(inner, child_path, depth + 1)


def _children(schema: Object, path: str) -> Iterator[tuple[Object, str]]:
    for name, inner in sorted(fields(schema.get("properties")).items()):
        yield fields(inner), f"{path}.properties[{name}]"
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), dict):
            yield fields(schema[key]), f"{path}.{key}"


def _rule_problems(
    schema: Object, position: _Position, costs: _Costs, *, root: bool = False
) -> Iterator[Cause]:
    if position.depth > _DEEPEST:
        return
    for inner, path in _children(schema, position.path):
        yield from _rule_problems(inner, _child_position(schema, position, path), costs)
    rules = [fields(rule) for rule in items(schema.get(_RULES))]
    shape = shape_of(schema, root=root) if rules else None
    if shape is None:
        return
    cardinality = LARGEST // (shape.least + 1) if position.cardinality is None else position.cardinality
    for index, rule in enumerate(rules):
        rule_path = f"{position.path}.{_RULES}[{index}].rule"
        if not text(rule.get("rule")).strip():
            yield Cause(rule_path, "Required value: rule is not specified")
            continue
        checked = check_expression(text(rule.get("rule")), shape)
        cost = min(checked.cost * cardinality, MOST)
        if cost > _RULE_LIMIT:
            yield Cause(rule_path, f"Forbidden: {_exceeds_budget('estimated rule cost', cost, _RULE_LIMIT)}")
        costs.total = min(costs.total + cost, MOST)
        if cost >= _TOTAL_LIMIT // 100:
            costs.most_expensive.append((cost, rule_path))
        if checked.problem:
            yield Cause(rule_path, f"Invalid value: {_go_text(rule)}: {checked.problem}")
        if checked.uses_old and position.uncorrelatable:
            within = position.uncorrelatable
            reason = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
            yield Cause(rule_path, f"Invalid value: {json.dumps(text(rule.get('rule')))}: {reason}")


def _child_position(schema: Object, position: _Position, path: str) -> _Position:
    child = position._replace(path=path, depth=position.depth + 1)
    kind = schema.get("type")
    if kind == "array":
        child = child._replace(cardinality=_times(position.cardinality, schema.get("maxItems")))
        is_uncorrelatable = schema.get("x-kubernetes-list-type") != "map"
    elif kind == "object" and schema.get("additionalProperties") is not None:
        child = child._replace(cardinality=_times(position.cardinality, schema.get("maxProperties")))
        is_uncorrelatable = schema.get("x-kubernetes-map-type") == "atomic"
    else:
        is_uncorrelatable = False
    return (
        child._replace(uncorrelatable=position.path)
        if is_uncorrelatable and not position.uncorrelatable
        else child
    )


def _times(cardinality: int | None, maximum: object) -> int | None:
    if cardinality is None or not isinstance(maximum, (int, float)):
        return None
    return min(cardinality * max(integer(maximum), 0), MOST)


def _exceeds_budget(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    excess = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    advice = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps,"
    return f"{name} exceeds budget by factor of {excess} ({advice} and strings are declared)"


def _go_text(rule: Object) -> str:
    """The rule as Go prints it."""
    printed = {
        "Rule": text(rule.get("rule")),
        "Message": text(rule.get("message")),
        "MessageExpression": text(rule.get("messageExpression")),
        "Reason": rule.get("reason"),
        "FieldPath": text(rule.get("fieldPath")),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    encoded = json.dumps(printed, separators=(",", ":"), ensure_ascii=False)
    return encoded.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
