"""Building blocks of the tables of shipped health checks.

A check is a list of steps, evaluated in order until one decides:

    CHECKS = {
        "Certificate": in_order(
            when(".status == nil", progressing("Waiting for certificate")),
            conditions(condition_is("Issuing", "True", progressing("{message}"))),
            conditions(
                condition_is("Ready", "False", degraded("{message}")),
                condition_is("Ready", "True", healthy("{message}")),
            ),
            progressing("Waiting for certificate"),
        ),
    }

**Paths.** `.status.phase` starts at the object; `reason`, without a leading dot, at the current item of a
loop, such as a condition. A missing field on the path is an error, as in the script; `?` after a name makes
it optional: `.status?.phase` is nil without a status. `|` sets a default for nil or false:
`.spec.replicas|1`. A name with dots is written as in Lua: `.metadata.labels?['example.com/state']`.

**Tests.** Lua expressions over paths: `".status.phase == 'Failed' and .status.failed ~= 0"`. They have `and`,
`or`, `not`, parentheses, `==`, `~=`, `<`, `>=`, `nil`, `true`, `false`, numbers, and texts in single quotes;
a path alone is true unless it is nil or false. Not Lua: `.status.phase in ('Failed', 'Error')`,
`some(.status.active)` (the list exists and is not empty) and `empty(.status)` (`next(…) == nil`).

**Messages.** Text with paths in braces: `"Ceph health is {.status.ceph.health}"`, `"{message|It failed}"`.
With only `"{message}"` a missing field results in no message; inside a longer text it is an error, as in Lua.

**A step** is called with the object and the current item, and returns a `HealthVerdict`, or `None` to
continue with the next step. Checks that do not fit a table are plain functions `def kind(obj: Object) ->
HealthVerdict | None`, written with `whysync.argocd.health.shipped.lua` and `verdict`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Protocol, TypeAlias

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.verdict import (
    DEGRADED,
    HEALTHY,
    MISSING,
    PROGRESSING,
    SUSPENDED,
    UNKNOWN,
    HealthVerdict,
)
from whysync.json_tree import Json, Object

Check: TypeAlias = Callable[[Object], HealthVerdict | None]
Getter: TypeAlias = Callable[[Object, Json], Json]
Test: TypeAlias = Callable[[Object, Json], bool]


class Step(Protocol):
    def __call__(self, obj: Object, item: Json = None, /) -> HealthVerdict | None: ...


SPEC_NOT_OBSERVED: Final = (
    ".metadata?.generation ~= nil and .status?.observedGeneration ~= nil"
    " and .status.observedGeneration ~= .metadata.generation"
)

_CODES: Final = frozenset(code.value for code in HealthCode)
_NOTHING: Final = HealthVerdict(None)
_INVALID: Final = HealthVerdict(UNKNOWN, "Lua returned an invalid health status")


def verdict(code: Json, message: Json = None) -> HealthVerdict:
    """The verdict of a script that returns `{status = code, message = message}`.

    Mirrors `ExecuteHealthLua`, Argo CD 3.6: a message that is not a string makes the whole result empty (a
    decoding error counts as an empty table); an unknown status is Unknown.
    """
    if isinstance(code, str) and code in _CODES:
        if isinstance(message, str):
            return HealthVerdict(HealthCode(code), message)
        return HealthVerdict(HealthCode(code)) if message is None else _NOTHING
    if not isinstance(code, str | None) or not isinstance(message, str | None):
        return _NOTHING
    return _NOTHING if code is None and message is None else _INVALID


def code_for(value: Json, table: Mapping[str, HealthCode], other: HealthCode = PROGRESSING) -> HealthCode:
    return table.get(value, other) if isinstance(value, str) else other


# Paths and messages


_NAME: Final = re.compile(r"([^.?\[]+)(\??)|\['([^']+)'\]")


def path(route: str) -> Getter:
    """Compiles a path; see the module docstring."""
    names, bar, otherwise = route.partition("|")
    is_relative = not names.startswith(".")
    steps = [(name or quoted, bool(mark)) for name, mark, quoted in _NAME.findall(names)]
    default: Json = int(otherwise) if otherwise.isdecimal() else otherwise if bar else None

    def read(obj: Object, item: Json) -> Json:
        value: Json = item if is_relative else obj
        for name, optional in steps:
            value = lua.at(value, name)
            if value is None and optional:
                return default
        return value if lua.truthy(value) or not bar else default

    return read


def constant(value: Json) -> Getter:
    return lambda _obj, _item: value


def message(template: str) -> Getter:
    """Compiles a message; see the module docstring."""
    parts: list[str | Getter] = []
    remaining = template
    while remaining:
        plain, brace, remaining = remaining.partition("{")
        inside, _, remaining = remaining.partition("}") if brace else ("", "", "")
        parts.extend(([plain] if plain else []) + ([path(inside)] if brace else []))
    only = parts[0] if parts else ""
    if len(parts) < 2:
        return constant(only) if isinstance(only, str) else only

    def write(obj: Object, item: Json) -> Json:
        return lua.concat(*(piece if isinstance(piece, str) else piece(obj, item) for piece in parts))

    return write


def either(*templates: str) -> Getter:
    """The first message that is not missing: `a or b`."""
    writers = [message(template) for template in templates]

    def write(obj: Object, item: Json) -> Json:
        value: Json = None
        for writer in writers:
            value = writer(obj, item)
            if lua.truthy(value):
                break
        return value

    return write


# Verdicts as steps that always decide


def fixed_verdict(code: HealthCode, text: str | Getter | None = "") -> Step:
    if text is None or (isinstance(text, str) and "{" not in text):
        ready = HealthVerdict(code, text or "")
        return lambda _obj, _item=None, /: ready
    write = message(text) if isinstance(text, str) else text
    return lambda obj, item=None, /: verdict(code, write(obj, item))


healthy: Final = partial(fixed_verdict, HEALTHY)
suspended: Final = partial(fixed_verdict, SUSPENDED)
progressing: Final = partial(fixed_verdict, PROGRESSING)
missing: Final = partial(fixed_verdict, MISSING)
degraded: Final = partial(fixed_verdict, DEGRADED)
unknown: Final = partial(fixed_verdict, UNKNOWN)


def nothing(_obj: Object, _item: Json = None, /) -> HealthVerdict:
    """The script returns nothing, which counts as Healthy."""
    return _NOTHING


# Steps


def in_order(*steps: Step) -> Step:
    """The first step that decides."""

    def evaluate(obj: Object, item: Json = None, /) -> HealthVerdict | None:
        for step in steps:
            decided = step(obj, item)
            if decided is not None:
                return decided
        return None

    return evaluate


def when(condition: str | Test, *steps: Step) -> Step:
    """The steps, if the test is true."""
    test, then = _compiled(condition), steps[0] if len(steps) == 1 else in_order(*steps)
    return lambda obj, item=None, /: then(obj, item) if test(obj, item) else None


def by(route: str, table: Mapping[str, Step], other: Step | None = None) -> Step:
    """The step for the text at the path; `other` for any other value, including nil."""
    read = path(route)

    def evaluate(obj: Object, item: Json = None, /) -> HealthVerdict | None:
        value = read(obj, item)
        step = table.get(value, other) if isinstance(value, str) else other
        return step(obj, item) if step is not None else None

    return evaluate


def each(route: str, *steps: Step, keyed: bool = False, required: bool = False) -> Step:
    """All steps for the first entry of a list, then for the second …, until one decides.

    `keyed` also iterates over the values of named fields (`pairs`). A missing list has no entries; with
    `required` it is an error.
    """
    read = path(route)
    walk = lua.pairs if keyed else lua.ipairs

    def evaluate(obj: Object, item: Json = None, /) -> HealthVerdict | None:
        entries = read(obj, item)
        if entries is None and not required:
            return None
        for entry in walk(entries):
            for step in steps:
                decided = step(obj, entry)
                if decided is not None:
                    return decided
        return None

    return evaluate


def inside(route: str, *steps: Step) -> Step:
    """The steps, with the value at the path as current item."""
    read, evaluate_all = path(route), in_order(*steps)
    return lambda obj, item=None, /: evaluate_all(obj, read(obj, item))


def conditions(*steps: Step) -> Step:
    """`each` over `.status.conditions`, if there are any."""
    return each(".status?.conditions", *steps)


def condition_is(kind: str, status: str | None, then: Step, *, reason: str | None = None) -> Step:
    """`then`, if the current condition has this type, and this status and reason if they are set."""

    def evaluate(obj: Object, item: Json = None, /) -> HealthVerdict | None:
        if lua.at(item, "type") != kind:
            return None
        if status is not None and lua.at(item, "status") != status:
            return None
        if reason is not None and lua.at(item, "reason") != reason:
            return None
        return then(obj, item)

    return evaluate


def true_or_false(kind: str) -> Step:
    """The most common table: a condition is Healthy if True and Degraded if False, with its own message."""
    return conditions(
        condition_is(kind, "False", degraded("{message}")), condition_is(kind, "True", healthy("{message}"))
    )


# Tests


def all_of(*conditions: str | Test) -> Test:
    tests = [_compiled(condition) for condition in conditions]
    return lambda obj, item: all(test(obj, item) for test in tests)


def any_of(*conditions: str | Test) -> Test:
    tests = [_compiled(condition) for condition in conditions]
    return lambda obj, item: any(test(obj, item) for test in tests)


def not_(condition: str | Test) -> Test:
    test = _compiled(condition)
    return lambda obj, item: not test(obj, item)


_TOKEN: Final = re.compile(r"'[^']*'|[=~>]=|[<(),]|(?:\[[^]]*\]|[^]\[\s()=~<>,'])+")
_CONSTANTS: Final[dict[str, Json]] = {"nil": None, "true": True, "false": False}
_COMPARISONS: Final[dict[str, Callable[[Json, Json], bool]]] = {
    "==": lua.same,
    "~=": lambda left, right: not lua.same(left, right),
    "<": lua.less,
    ">=": lua.at_least,
}
_FUNCTIONS: Final[dict[str, Callable[[Json], bool]]] = {
    "empty": lua.is_empty,
    "some": lambda value: value is not None and lua.length(value) > 0,
}


def _compiled(condition: str | Test) -> Test:
    return test(condition) if isinstance(condition, str) else condition


def test(expression: str) -> Test:
    """Compiles a test; see the module docstring."""
    tokens: list[str] = _TOKEN.findall(expression)
    compiled = _disjunction(tokens)
    if tokens:
        raise ValueError(f"unexpected {tokens[0]} in {expression}")
    return compiled


def _disjunction(tokens: list[str]) -> Test:
    return _operation(tokens, "or", _conjunction, any_of)


def _conjunction(tokens: list[str]) -> Test:
    return _operation(tokens, "and", _comparison, all_of)


def _operation(
    tokens: list[str], operator: str, operand: Callable[[list[str]], Test], combine: Callable[..., Test]
) -> Test:
    tests = [operand(tokens)]
    while tokens and tokens[0] == operator:
        del tokens[0]
        tests.append(operand(tokens))
    return tests[0] if len(tests) == 1 else combine(*tests)


def _comparison(tokens: list[str]) -> Test:
    first = tokens.pop(0)
    if first == "not":
        return not_(_comparison(tokens))
    if first == "(":
        inner = _disjunction(tokens)
        tokens.remove(")")
        return inner
    if first in _FUNCTIONS:
        function, argument = _FUNCTIONS[first], path(tokens[1])
        del tokens[:3]
        return lambda obj, item: function(argument(obj, item))
    left = _operand(first)
    operator = tokens.pop(0) if tokens and (tokens[0] == "in" or tokens[0] in _COMPARISONS) else None
    if operator is None:
        return lambda obj, item: lua.truthy(left(obj, item))
    if operator == "in":
        end = tokens.index(")")
        choices = [_constant(token) for token in tokens[1:end:2]]
        del tokens[: end + 1]
        return lambda obj, item: _is_one_of(left(obj, item), choices)
    compare, right = _COMPARISONS[operator], _operand(tokens.pop(0))
    return lambda obj, item: compare(left(obj, item), right(obj, item))


def _is_one_of(value: Json, choices: list[Json]) -> bool:
    return any(lua.same(value, choice) for choice in choices)


def _operand(token: str) -> Getter:
    if token in _CONSTANTS or token.isdecimal() or token.startswith("'"):
        return constant(_constant(token))
    return path(token)


def _constant(token: str) -> Json:
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    return int(token) if token.isdecimal() else token[1:-1]
