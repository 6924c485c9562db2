"""The Common Expression Language, as far as rules of custom resources and admission policies use it.

`evaluate("self.min <= self.max", {"self": ...})` gives a JSON value. A rule that fails at run time raises
`CelError` with the server's words; one that uses what is not known here raises `NotKnown`, and is then
not judged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from whysync.json_tree import Json, Object
from whysync.kubernetes.cel.tokens import meant, tokens_of, unquoted
from whysync.kubernetes.cel.values import (
    FUNCTIONS,
    TYPE_MARK,
    TYPE_NAMES,
    CelError,
    UnknownValue,
    number,
    reckoned,
    truth,
)

Env: TypeAlias = Object
Run: TypeAlias = Callable[[Env], Json]


def evaluate(expression: str, env: Env) -> Json:
    try:
        return _compiled(expression)(env)
    except RecursionError:
        raise UnknownValue(expression) from None


@lru_cache(maxsize=512)
def _compiled(expression: str) -> Run:
    parser = _Parser([(token.form, token.word) for token in tokens_of(expression)])
    run = parser.expression()
    if parser.peek():
        raise UnknownValue(expression)
    return run


class _Parser:
    """Precedence climbing; every method gives a function from variables to a value."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise UnknownValue("the expression ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _accept(self, op: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == ("op", op):
            self._at += 1
            return True
        return False

    def _expect(self, op: str) -> None:
        if not self._accept(op):
            raise UnknownValue(f"expected {op}")

    def expression(self) -> Run:
        condition = self._either()
        if not self._accept("?"):
            return condition
        yes = self.expression()
        self._expect(":")
        no = self.expression()
        return lambda env: yes(env) if truth(condition(env)) else no(env)

    def _either(self) -> Run:
        left = self._both()
        while self._accept("||"):
            left = _absorbing(left, self._both(), decisive=True)
        return left

    def _both(self) -> Run:
        left = self._relation()
        while self._accept("&&"):
            left = _absorbing(left, self._relation(), decisive=False)
        return left

    def _relation(self) -> Run:
        left = self._sum()
        while self.peek() in {"==", "!=", "<", "<=", ">", ">=", "in"}:
            left = _binary(self._take()[1], left, self._sum())
        return left

    def _sum(self) -> Run:
        left = self._product()
        while self.peek() in {"+", "-"}:
            left = _binary(self._take()[1], left, self._product())
        return left

    def _product(self) -> Run:
        left = self._unary()
        while self.peek() in {"*", "/", "%"}:
            left = _binary(self._take()[1], left, self._unary())
        return left

    def _unary(self) -> Run:
        if self._accept("!"):
            inner = self._unary()
            return lambda env: not truth(inner(env))
        if self._accept("-"):
            inner = self._unary()
            return lambda env: -number(inner(env))
        return self._member()

    def _member(self) -> Run:
        value = self._primary()
        while True:
            if self._accept("."):
                _, name = self._take()
                value = self._method(value, name) if self._accept("(") else _field(value, name)
            elif self._accept("["):
                index = self.expression()
                self._expect("]")
                value = _indexed(value, index)
            else:
                return value

    def _method(self, target: Run, name: str) -> Run:
        if name in _MACROS:
            _, variable = self._take()
            self._expect(",")
            body = self.expression()
            self._expect(")")
            macro = _MACROS[name]
            return lambda env: macro(target(env), variable, body, env)
        arguments = self._arguments()
        return _called(name, [target, *arguments])

    def _arguments(self) -> list[Run]:
        arguments: list[Run] = []
        if self._accept(")"):
            return arguments
        while True:
            arguments.append(self.expression())
            if self._accept(")"):
                return arguments
            self._expect(",")

    def _primary(self) -> Run:
        kind, word = self._take()
        if kind == "number":
            value: Json = float(word) if "." in word else int(word.rstrip("u"))
            return lambda _: value
        if kind == "text":
            plain = unquoted(word)
            return lambda _: plain
        if word == "(":
            inner = self.expression()
            self._expect(")")
            return inner
        if word == "[":
            return self._list()
        if kind != "name":
            raise UnknownValue(word)
        if word in {"true", "false", "null"}:
            constant = {"true": True, "false": False, "null": None}[word]
            return lambda _: constant
        if self._accept("("):
            return self._call(word)
        return lambda env: _variable(env, word)

    def _list(self) -> Run:
        elements: list[Run] = []
        while not self._accept("]"):
            elements.append(self.expression())
            if not self._accept(","):
                self._expect("]")
                break
        return lambda env: [item(env) for item in elements]

    def _call(self, name: str) -> Run:
        if name == "has":
            return self._has()
        return _called(name, self._arguments())

    def _has(self) -> Run:
        start = self._at
        self._member()
        self._expect(")")
        if self._tokens[self._at - 3] != ("op", "."):
            raise UnknownValue("has")
        name = self._tokens[self._at - 2][1]
        inner = _Parser(self._tokens[start : self._at - 3]).expression()

        def present(env: Env) -> Json:
            holder = inner(env)
            return isinstance(holder, dict) and name in holder

        return present


def _called(name: str, arguments: list[Run]) -> Run:
    function = FUNCTIONS.get((name, len(arguments)))
    if function is None:
        raise UnknownValue(name)
    return lambda env: function([argument(env) for argument in arguments])


def _variable(env: Env, name: str) -> Json:
    if name in env:
        return env[name]
    if name in TYPE_NAMES:
        return f"{TYPE_MARK}{name}"
    raise UnknownValue(name)


def _field(target: Run, name: str) -> Run:
    if "__" in name:
        name = meant(name)

    def run(env: Env) -> Json:
        holder = target(env)
        if not isinstance(holder, dict) or name not in holder:
            raise CelError(f"no such key: {name}")
        return holder[name]

    return run


def _indexed(target: Run, index: Run) -> Run:
    def run(env: Env) -> Json:
        holder, key = target(env), index(env)
        if isinstance(holder, dict) and isinstance(key, str):
            if key not in holder:
                raise CelError(f"no such key: {key}")
            return holder[key]
        if isinstance(holder, list) and isinstance(key, int) and not isinstance(key, bool):
            if not 0 <= key < len(holder):
                raise CelError(f"index out of bounds: {key}")
            return holder[key]
        raise CelError("no such overload")

    return run


def _absorbing(left: Run, right: Run, *, decisive: bool) -> Run:
    """`&&` and `||`: a side that decides makes up for an error on the other."""

    def run(env: Env) -> Json:
        try:
            if truth(left(env)) is decisive:
                return decisive
        except CelError:
            if truth(right(env)) is decisive:
                return decisive
            raise
        return truth(right(env))

    return run


def _binary(op: str, left: Run, right: Run) -> Run:
    return lambda env: reckoned(op, left(env), right(env))


def _holds_for(values: Json, variable: str, body: Run, env: Env) -> list[tuple[Json, bool]]:
    elements = list(values) if isinstance(values, (dict, list)) else None
    if elements is None:
        raise CelError("no such overload")
    return [(value, truth(body({**env, variable: value}))) for value in elements]


def _mapped(values: Json, variable: str, body: Run, env: Env) -> Json:
    elements = list(values) if isinstance(values, (dict, list)) else []
    return [body({**env, variable: value}) for value in elements]


Macro: TypeAlias = Callable[[Json, str, Run, Env], Json]
_MACROS: Final[dict[str, Macro]] = {
    "all": lambda values, name, body, env: all(ok for _, ok in _holds_for(values, name, body, env)),
    "exists": lambda values, name, body, env: any(ok for _, ok in _holds_for(values, name, body, env)),
    "exists_one": lambda values, name, body, env: (
        sum(ok for _, ok in _holds_for(values, name, body, env)) == 1
    ),
    "filter": lambda values, name, body, env: [
        value for value, ok in _holds_for(values, name, body, env) if ok
    ],
    "map": _mapped,
}
