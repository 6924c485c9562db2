"""The words that the tables of shipped health checks are made of.

A check is a list of steps, asked in order until one decides:

    CHECKS = {
        "Certificate": in_order(
            conditions(says("Issuing", "True", progressing("{message}"))),
            conditions(
                says("Ready", "False", degraded("{message}")),
                says("Ready", "True", healthy("{message}")),
            ),
            progressing("Waiting for certificate"),
        ),
    }

**Paths.** `.status.phase` starts at the object; `reason`, without a dot in front, at the thing at hand:
the condition (or listener, or replica …) that a loop has come to. Where a script would trip over a missing
field, so does the path; `?` behind a name says that the script looked first: `.status?.phase` is nil
when there is no status. `|` gives what to take for nil or false: `.spec.replicas|1`. Names that hold dots
are written as a tuple: `(".metadata.labels?", "example.com/state")`.

**Messages.** Text with paths in braces: `"Ceph health is {.status.ceph.health}"`, `"{message|It failed}"`.
A lone `"{message}"` may be absent, and the verdict then has no message; inside a longer text, a missing
field is an error of the script, as it is in Lua.

**A step** is called with the object and the thing at hand, and answers a `Verdict`, or `None` to let the next
one speak. What no table says well is a plain function `def kind(obj: Object) -> Verdict | None`, built with
`whysync.argocd.health.shipped.lua` and `verdict`.
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
    def __call__(self, obj: Object, it: Json = None, /) -> HealthVerdict | None: ...


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
    """What Argo CD makes of `{status = code, message = message}`, whatever these are.

    Mirrors `ExecuteHealthLua`, Argo CD 3.6: a message that is not text makes the whole answer empty (it
    fails to decode, and that failure is taken for an empty table); a status that Argo CD does not know
    is Unknown.
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
    """Reads the value at a path, as described at the top."""
    dotted, *verbatim = (route,) if isinstance(route, str) else route
    dotted, bar, otherwise = dotted.partition("|")
    at_hand = not dotted.startswith(".")
    names = [*dotted.removeprefix(".").split("."), *verbatim]
    steps = [(name.removesuffix("?"), name.endswith("?")) for name in names if name]
    default: Json = int(otherwise) if otherwise.isdecimal() else otherwise if bar else None

    def read(obj: Object, it: Json) -> Json:
        value: Json = it if at_hand else obj
        for name, looked in steps:
            value = lua.at(value, name)
            if value is None and looked:
                return default
        return value if lua.truthy(value) or not bar else default

    return read


def constant(value: Json) -> Getter:
    return lambda _obj, _it: value


def message(template: str) -> Getter:
    """Writes a message, as described at the top."""
    parts: list[str | Getter] = []
    rest = template
    while rest:
        plain, brace, rest = rest.partition("{")
        inside, _, rest = rest.partition("}") if brace else ("", "", "")
        parts.extend(([plain] if plain else []) + ([path(inside)] if brace else []))
    only = parts[0] if parts else ""
    if len(parts) < 2:
        return constant(only) if isinstance(only, str) else only

    def write(obj: Object, it: Json) -> Json:
        return lua.concat(*(part if isinstance(part, str) else part(obj, it) for part in parts))

    return write


def either(*templates: str) -> Getter:
    """The first message that is there: `a or b`."""
    writers = [message(template) for template in templates]

    def write(obj: Object, it: Json) -> Json:
        value: Json = None
        for writer in writers:
            value = writer(obj, it)
            if lua.truthy(value):
                break
        return value

    return write


# Verdicts as steps that always decide


def answer(code: HealthCode, text: str | Getter | None = "") -> Step:
    if text is None or (isinstance(text, str) and "{" not in text):
        ready = HealthVerdict(code, text or "")
        return lambda _obj, _it=None, /: ready
    write = message(text) if isinstance(text, str) else text
    return lambda obj, it=None, /: verdict(code, write(obj, it))


def healthy(text: str | Getter | None = "") -> Step:
    return answer(HEALTHY, text)


def suspended(text: str | Getter | None = "") -> Step:
    return answer(SUSPENDED, text)


def progressing(text: str | Getter | None = "") -> Step:
    return answer(PROGRESSING, text)


def missing(text: str | Getter | None = "") -> Step:
    return answer(MISSING, text)


def degraded(text: str | Getter | None = "") -> Step:
    return answer(DEGRADED, text)


def unknown(text: str | Getter | None = "") -> Step:
    return answer(UNKNOWN, text)


def nothing(_obj: Object, _it: Json = None, /) -> HealthVerdict:
    """The script ends without an answer, which counts as healthy later on."""
    return _NOTHING


# Steps


def in_order(*steps: Step) -> Step:
    """The first step that decides."""

    def ask(obj: Object, it: Json = None, /) -> HealthVerdict | None:
        for step in steps:
            decided = step(obj, it)
            if decided is not None:
                return decided
        return None

    return ask


def when(*tests: Test, then: Step) -> Step:
    """`then`, if all tests hold."""

    def ask(obj: Object, it: Json = None, /) -> HealthVerdict | None:
        for test in tests:
            if not test(obj, it):
                return None
        return then(obj, it)

    return ask


def by(route: Route, table: Mapping[str, Step], other: Step | None = None) -> Step:
    """The step under the text found at the path; `other` for whatever else is found there, nil included."""
    read = path(route)

    def ask(obj: Object, it: Json = None, /) -> HealthVerdict | None:
        value = read(obj, it)
        step = table.get(value, other) if isinstance(value, str) else other
        return step(obj, it) if step is not None else None

    return ask


def each(route: Route, *steps: Step, keyed: bool = False, required: bool = False) -> Step:
    """All steps for the first entry of a list, then for the second …, until one decides.

    `keyed` also walks the values of a table with named fields (`pairs`). A list that is not there has no
    entries, unless the script did not look: `required`.
    """
    read = path(route)
    walk = lua.pairs if keyed else lua.ipairs

    def ask(obj: Object, it: Json = None, /) -> HealthVerdict | None:
        entries = read(obj, it)
        if entries is None and not required:
            return None
        for entry in walk(entries):
            for step in steps:
                decided = step(obj, entry)
                if decided is not None:
                    return decided
        return None

    return ask


def inside(route: Route, *steps: Step) -> Step:
    """The steps, with the value at the path as the thing at hand."""
    read, ask_all = path(route), in_order(*steps)
    return lambda obj, it=None, /: ask_all(obj, read(obj, it))


def conditions(*steps: Step) -> Step:
    """`each` over `.status.conditions`, if there are any."""
    return each(".status?.conditions", *steps)


def says(kind: str, status: str | None, then: Step, *, reason: str | None = None) -> Step:
    """`then`, if the condition at hand has this type, and this status and reason where they are given."""

    def ask(obj: Object, it: Json = None, /) -> HealthVerdict | None:
        if lua.at(it, "type") != kind:
            return None
        if status is not None and lua.at(it, "status") != status:
            return None
        if reason is not None and lua.at(it, "reason") != reason:
            return None
        return then(obj, it)

    return ask


def true_or_false(kind: str) -> Step:
    """The commonest table: a condition means Healthy when True and Degraded when False, in its own words."""
    return conditions(
        says(kind, "False", degraded("{message}")),
        says(kind, "True", healthy("{message}")),
    )


# Tests


def is_(route: Route, *values: Constant) -> Test:
    """The value at the path is one of these."""
    read = path(route)

    def test(obj: Object, it: Json) -> bool:
        actual = read(obj, it)
        return any(lua.same(actual, value) for value in values)

    return test


def isnt(route: Route, *values: Constant) -> Test:
    """The value at the path is none of these; nil is none of them."""
    return none_of(is_(route, *values))


def absent(route: Route) -> Test:
    read = path(route)
    return lambda obj, it: read(obj, it) is None


def present(route: Route) -> Test:
    """Not nil; an empty text or `false` is present."""
    read = path(route)
    return lambda obj, it: read(obj, it) is not None


def true(route: Route) -> Test:
    """Neither nil nor false: what Lua takes for true."""
    read = path(route)
    return lambda obj, it: lua.truthy(read(obj, it))


def same(left: Route, right: Route) -> Test:
    """Both paths lead to equal values; two that lead nowhere are equal."""
    left_path, other = path(left), path(right)
    return lambda obj, it: lua.same(left_path(obj, it), other(obj, it))


def less(left: Route | int, right: Route | int) -> Test:
    """`left < right`; an error unless both are numbers or both are text."""
    left_operand, other = _operand(left), _operand(right)
    return lambda obj, it: lua.less(left_operand(obj, it), other(obj, it))


def at_least(left: Route | int, right: Route | int) -> Test:
    """`left >= right`; an error unless both are numbers or both are text."""
    return none_of(less(left, right))


def empty(route: Route) -> Test:
    """The table at the path has nothing in it (`next(…) == nil`); an error for what is no table."""
    read = path(route)
    return lambda obj, it: lua.is_empty(read(obj, it))


def some(route: Route) -> Test:
    """The list at the path is there and not empty."""
    read = path(route)

    def test(obj: Object, it: Json) -> bool:
        value = read(obj, it)
        return value is not None and lua.length(value) > 0

    return test


def all_of(*tests: Test) -> Test:
    return lambda obj, it: all(test(obj, it) for test in tests)


def any_of(*tests: Test) -> Test:
    return lambda obj, it: any(test(obj, it) for test in tests)


def none_of(*tests: Test) -> Test:
    return lambda obj, it: not any(test(obj, it) for test in tests)


def _operand(value: Route | int) -> Getter:
    return constant(value) if isinstance(value, int) else path(value)
