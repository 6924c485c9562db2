"""The Common Expression Language, as far as rules of custom resources and admission policies use it.

`evaluate("self.min <= self.max", {"self": ...})` returns a JSON value. A rule that fails at run time raises
`CelError` with the server's message; one that uses what is not modeled raises `UnknownValue` and is not
evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from whysync.json_tree import Json, Object
from whysync.kubernetes.cel.syntax_tree import Node, tree_of, unescaped, unquoted
from whysync.kubernetes.cel.values import (
    FUNCTIONS,
    TYPE_MARK,
    TYPE_NAMES,
    CelError,
    UnknownValue,
    binary_operation,
    number,
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
    return _compile(tree_of(expression))


def _compile(node: Node) -> Run:
    """A function from variables to the value of the node."""
    word = node.word
    match node.form:
        case "number":
            value: Json = float(word) if "." in word else int(word.rstrip("u"))
            return lambda _: value
        case "text":
            text = unquoted(word)
            return lambda _: text
        case "constant":
            constant = {"true": True, "false": False, "null": None}[word]
            return lambda _: constant
        case "name":
            return lambda env: _variable(env, word)
        case "macro":
            target, body, macro = _compile(node.parts[0]), _compile(node.parts[2]), _MACROS[word]
            variable = node.parts[1].word
            return lambda env: macro(target(env), variable, body, env)
        case _:
            return _compile_compound(node, [_compile(part) for part in node.parts])


def _compile_compound(node: Node, parts: list[Run]) -> Run:
    match node.form:
        case "field":
            return _field(parts[0], node.word)
        case "has":
            owner, name = parts[0], node.word
            return lambda env: isinstance(value := owner(env), dict) and name in value
        case "index":
            return _indexed(*parts)
        case "list":
            return lambda env: [part(env) for part in parts]
        case "choice":
            condition, yes, no = parts
            return lambda env: yes(env) if truth(condition(env)) else no(env)
        case "operator":
            return _operator(node.word, parts)
        case _:
            return _called(node.word, parts)


def _operator(op: str, operands: list[Run]) -> Run:
    left, right = operands[0], operands[-1]
    if op == "!_":
        return lambda env: not truth(left(env))
    if op == "-_":
        return lambda env: -number(left(env))
    if op in {"||", "&&"}:
        return _absorbing(left, right, decisive=op == "||")
    return lambda env: binary_operation(op, left(env), right(env))


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
        name = unescaped(name)

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
    """`&&` and `||`: an error of one operand is ignored if the other decides the result."""

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
