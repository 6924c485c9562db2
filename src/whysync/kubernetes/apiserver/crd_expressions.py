"""Rules and patterns in a definition: compiled and priced before the server takes it.

Mirrors the part of apiextensions `validation` that looks at `x-kubernetes-validations` and `pattern`,
Kubernetes 1.36.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from whysync.golang.regexp_syntax import regex_problem
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.status_errors import Cause
from whysync.kubernetes.cel.schema_types import LARGEST, shape_of
from whysync.kubernetes.cel.type_check import MOST, judged
from whysync.kubernetes.validation.crd_schemas import shared_schema

_RULES: Final = "x-kubernetes-validations"
_RULE_LIMIT: Final = 10_000_000
_WHOLE_LIMIT: Final = 100_000_000
_MOST_TOLD: Final = 4
_DEEPEST: Final = 60


class _Where(NamedTuple):
    path: str
    often: int | None = 1
    """How often values of this schema can occur; `None` where nothing limits it."""
    loose: str = ""
    """The list whose items have no identity: values below it have no predecessor."""
    depth: int = 0


class _Bill:
    def __init__(self) -> None:
        self.total = 0
        self.dearest: list[tuple[int, str]] = []


def definition_problems(definition: Object) -> list[Cause]:
    versions = [fields(version) for version in items(dig(definition, "spec", "versions"))]
    shared = shared_schema(versions)
    if shared is not None:
        return list(_of_schema(shared, "spec.validation.openAPIV3Schema"))
    causes: list[Cause] = []
    for at, version in enumerate(versions):
        schema = fields(dig(version, "schema", "openAPIV3Schema"))
        causes.extend(_of_schema(schema, f"spec.versions[{at}].schema.openAPIV3Schema"))
    return causes


def _of_schema(schema: Object, path: str) -> Iterator[Cause]:
    patterns = list(_patterns(schema, path, 0))
    yield from patterns
    if patterns:
        return
    bill = _Bill()
    yield from _rules(schema, _Where(path), bill, root=True)
    if bill.total > _WHOLE_LIMIT:
        for _, where in sorted(bill.dearest, key=lambda entry: -entry[0])[:_MOST_TOLD]:
            reason = (
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            )
            yield Cause(where, f"Forbidden: {reason}")
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield Cause(path, f"Forbidden: {_too_dear(name, bill.total, _WHOLE_LIMIT)}")


def _patterns(schema: Object, path: str, depth: int) -> Iterator[Cause]:
    if depth > _DEEPEST:
        return
    pattern = text(schema.get("pattern"))
    problem = regex_problem(pattern) if pattern else ""
    if problem:
        reason = f"must be a valid regular expression, but isn't: error parsing regexp: {problem}"
        yield Cause(f"{path}.pattern", f"Invalid value: {json.dumps(pattern, ensure_ascii=False)}: {reason}")
    for inner, where in _below(schema, path):
        yield from _patterns(inner, where, depth + 1)


def _below(schema: Object, path: str) -> Iterator[tuple[Object, str]]:
    for name, inner in sorted(fields(schema.get("properties")).items()):
        yield fields(inner), f"{path}.properties[{name}]"
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), dict):
            yield fields(schema[key]), f"{path}.{key}"


def _rules(schema: Object, here: _Where, bill: _Bill, *, root: bool = False) -> Iterator[Cause]:
    if here.depth > _DEEPEST:
        return
    for inner, path in _below(schema, here.path):
        yield from _rules(inner, _inside(schema, here, path), bill)
    rules = [fields(rule) for rule in items(schema.get(_RULES))]
    shape = shape_of(schema, root=root) if rules else None
    if shape is None:
        return
    often = LARGEST // (shape.least + 1) if here.often is None else here.often
    for at, rule in enumerate(rules):
        where = f"{here.path}.{_RULES}[{at}].rule"
        checked = judged(text(rule.get("rule")), shape)
        cost = min(checked.cost * often, MOST)
        if cost > _RULE_LIMIT:
            yield Cause(where, f"Forbidden: {_too_dear('estimated rule cost', cost, _RULE_LIMIT)}")
        bill.total = min(bill.total + cost, MOST)
        if cost >= _WHOLE_LIMIT // 100:
            bill.dearest.append((cost, where))
        if checked.problem:
            yield Cause(where, f"Invalid value: {_shown(rule)}: {checked.problem}")
        if checked.uses_old and here.loose:
            reason = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {here.loose}"
            yield Cause(where, f"Invalid value: {json.dumps(text(rule.get('rule')))}: {reason}")


def _inside(schema: Object, here: _Where, path: str) -> _Where:
    below = here._replace(path=path, depth=here.depth + 1)
    kind = schema.get("type")
    if kind == "array":
        below = below._replace(often=_times(here.often, schema.get("maxItems")))
        loose = schema.get("x-kubernetes-list-type") != "map"
    elif kind == "object" and schema.get("additionalProperties") is not None:
        below = below._replace(often=_times(here.often, schema.get("maxProperties")))
        loose = schema.get("x-kubernetes-map-type") == "atomic"
    else:
        loose = False
    return below._replace(loose=here.path) if loose and not here.loose else below


def _times(often: int | None, most: object) -> int | None:
    if often is None or not isinstance(most, (int, float)):
        return None
    return min(often * max(integer(most), 0), MOST)


def _too_dear(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    excess = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    advice = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps,"
    return f"{name} exceeds budget by factor of {excess} ({advice} and strings are declared)"


def _shown(rule: Object) -> str:
    """As Go writes the rule out."""
    whole = {
        "Rule": text(rule.get("rule")),
        "Message": text(rule.get("message")),
        "MessageExpression": text(rule.get("messageExpression")),
        "Reason": rule.get("reason"),
        "FieldPath": text(rule.get("fieldPath")),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    encoded = json.dumps(whole, separators=(",", ":"), ensure_ascii=False)
    return encoded.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
