"""Building blocks of the tables of shipped health checks.

A check is a list of steps, evaluated in order until one decides:

    CHECKS = {
        "Certificate": in_order(
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
`.spec.replicas|1`. A name with dots is written in a tuple: `(".metadata.labels?", "example.com/state")`.

**Messages.** Text with paths in braces: `"Ceph health is {.status.ceph.health}"`, `"{message|It failed}"`.
With only `"{message}"` a missing field results in no message; inside a longer text it is an error, as in Lua.

**A step** is called with the object and the current item, and returns a `HealthVerdict`, or `None` to
continue with the next step. Checks that do not fit a table are plain functions `def kind(obj: Object) ->
HealthVerdict | None`, written with `whysync.argocd.health.shipped.lua` and `verdict`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeAlias

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

Check: TypeAlias = Callable[[Object], HealthVerdict | None]
Getter: TypeAlias = Callable[[Object, Json], Json]
Test: TypeAlias = Callable[[Object, Json], bool]
Route: TypeAlias = str | tuple[str, ...]
Constant: TypeAlias = str | int | bool


class Step(Protocol):
    def __call__(self, obj: Object, item: Json = None, /) -> HealthVerdict | None: ...


HEALTHY: Final = HealthCode.HEALTHY
SUSPENDED: Final = HealthCode.SUSPENDED
PROGRESSING: Final = HealthCode.PROGRESSING
MISSING: Final = HealthCode.MISSING
DEGRADED: Final = HealthCode.DEGRADED
UNKNOWN: Final = HealthCode.UNKNOWN

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


def path(route: Route) -> Getter:
    """Compiles a path; see the module docstring."""
    dotted, *verbatim = (route,) if isinstance(route, str) else route
    dotted, bar, otherwise = dotted.partition("|")
    is_relative = not dotted.startswith(".")
    names = [*dotted.removeprefix(".").split("."), *verbatim]
    steps = [(name.removesuffix("?"), name.endswith("?")) for name in names if name]
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


def healthy(text: str | Getter | None = "") -> Step:
    return fixed_verdict(HEALTHY, text)


def suspended(text: str | Getter | None = "") -> Step:
    return fixed_verdict(SUSPENDED, text)


def progressing(text: str | Getter | None = "") -> Step:
    return fixed_verdict(PROGRESSING, text)


def missing(text: str | Getter | None = "") -> Step:
    return fixed_verdict(MISSING, text)


def degraded(text: str | Getter | None = "") -> Step:
    return fixed_verdict(DEGRADED, text)


def unknown(text: str | Getter | None = "") -> Step:
    return fixed_verdict(UNKNOWN, text)


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


def when(*tests: Test, then: Step) -> Step:
    """`then`, if all tests are true."""

    def evaluate(obj: Object, item: Json = None, /) -> HealthVerdict | None:
        for test in tests:
            if not test(obj, item):
                return None
        return then(obj, item)

    return evaluate


def by(route: Route, table: Mapping[str, Step], other: Step | None = None) -> Step:
    """The step for the text at the path; `other` for any other value, including nil."""
    read = path(route)

    def evaluate(obj: Object, item: Json = None, /) -> HealthVerdict | None:
        value = read(obj, item)
        step = table.get(value, other) if isinstance(value, str) else other
        return step(obj, item) if step is not None else None

    return evaluate


def each(route: Route, *steps: Step, keyed: bool = False, required: bool = False) -> Step:
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


def inside(route: Route, *steps: Step) -> Step:
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
        condition_is(kind, "False", degraded("{message}")),
        condition_is(kind, "True", healthy("{message}")),
    )


# Tests


def is_(route: Route, *values: Constant) -> Test:
    """The value at the path is one of these."""
    read = path(route)

    def test(obj: Object, item: Json) -> bool:
        actual = read(obj, item)
        return any(lua.same(actual, value) for value in values)

    return test


def isnt(route: Route, *values: Constant) -> Test:
    """The value at the path is none of these; nil is none of them."""
    return none_of(is_(route, *values))


def absent(route: Route) -> Test:
    read = path(route)
    return lambda obj, item: read(obj, item) is None


def present(route: Route) -> Test:
    """Not nil; an empty text or `false` is present."""
    read = path(route)
    return lambda obj, item: read(obj, item) is not None


def true(route: Route) -> Test:
    """Neither nil nor false: true in Lua."""
    read = path(route)
    return lambda obj, item: lua.truthy(read(obj, item))


def same(left: Route, right: Route) -> Test:
    """Both paths have equal values; two missing values are equal."""
    left_value, right_value = path(left), path(right)
    return lambda obj, item: lua.same(left_value(obj, item), right_value(obj, item))


def less(left: Route | int, right: Route | int) -> Test:
    """`left < right`; an error unless both are numbers or both are text."""
    left_value, right_value = _operand(left), _operand(right)
    return lambda obj, item: lua.less(left_value(obj, item), right_value(obj, item))


def at_least(left: Route | int, right: Route | int) -> Test:
    """`left >= right`; an error unless both are numbers or both are text."""
    return none_of(less(left, right))


def empty(route: Route) -> Test:
    """The table at the path is empty (`next(…) == nil`); an error if it is not a table."""
    read = path(route)
    return lambda obj, item: lua.is_empty(read(obj, item))


def some(route: Route) -> Test:
    """The list at the path exists and is not empty."""
    read = path(route)

    def test(obj: Object, item: Json) -> bool:
        value = read(obj, item)
        return value is not None and lua.length(value) > 0

    return test


def all_of(*tests: Test) -> Test:
    return lambda obj, item: all(test(obj, item) for test in tests)


def any_of(*tests: Test) -> Test:
    return lambda obj, item: any(test(obj, item) for test in tests)


def none_of(*tests: Test) -> Test:
    return lambda obj, item: not any(test(obj, item) for test in tests)


def _operand(value: Route | int) -> Getter:
    return constant(value) if isinstance(value, int) else path(value)
