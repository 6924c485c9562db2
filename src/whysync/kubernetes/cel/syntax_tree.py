"""The syntax tree of a CEL expression, with the positions of its nodes."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from whysync.kubernetes.cel.tokens import Token, tokens_of
from whysync.kubernetes.cel.values import UnknownValue

MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})
_LEVELS: Final = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"==", "!=", "<", "<=", ">", ">=", "in"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
"""Operators by precedence, lowest first."""


class Node(NamedTuple):
    """`form` is `number`, `text`, `constant`, `name`, `field`, `has`, `index`, `operator`, `call`, `method`,
    `macro`, `list` or `choice`; `word` is the token, `parts` are the operands, `at` is the position."""

    form: str
    at: int
    word: str
    parts: tuple[Node, ...] = ()


@lru_cache(maxsize=256)
def tree_of(expression: str) -> Node:
    """Raises `UnknownValue` for an expression that cannot be parsed."""
    reader = _Reader(tokens_of(expression))
    try:
        tree = reader.expression()
    except RecursionError:
        raise UnknownValue(expression) from None
    reader.end()
    return tree


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = [*tokens, Token("end", "", 0)]
        self._next = 0

    def end(self) -> None:
        if self._tokens[self._next].form != "end":
            raise UnknownValue(self._tokens[self._next].word)

    def _is(self, *symbols: str) -> bool:
        token = self._tokens[self._next]
        return token.form not in {"text", "number", "end"} and token.word in symbols

    def _take(self) -> Token:
        token = self._tokens[self._next]
        if token.form == "end":
            raise UnknownValue("the expression ends too early")
        self._next += 1
        return token

    def _expect(self, symbol: str) -> Token:
        if not self._is(symbol):
            raise UnknownValue(f"expected {symbol}")
        return self._take()

    def expression(self) -> Node:
        condition = self._binary(0)
        if not self._is("?"):
            return condition
        at = self._take().at
        yes = self.expression()
        self._expect(":")
        return Node("choice", at, "_?_:_", (condition, yes, self.expression()))

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._is(*_LEVELS[level]):
            sign = self._take()
            left = Node("operator", sign.at, sign.word, (left, self._binary(level + 1)))
        return left

    def _unary(self) -> Node:
        if self._is("!", "-"):
            sign = self._take()
            return Node("operator", sign.at, f"{sign.word}_", (self._unary(),))
        return self._member()

    def _member(self) -> Node:
        value = self._primary()
        while True:
            if self._is("."):
                dot, name = self._take(), self._take()
                if not self._is("("):
                    value = Node("field", dot.at, name.word, (value,))
                elif name.word in MACROS:
                    value = self._macro(value, name)
                else:
                    at = self._take().at
                    value = Node("method", at, name.word, (value, *self._list(")")))
            elif self._is("["):
                at = self._take().at
                value = Node("index", at, "", (value, self.expression()))
                self._expect("]")
            else:
                return value

    def _macro(self, target: Node, name: Token) -> Node:
        at = self._expect("(").at
        variable = self._take()
        self._expect(",")
        body = self.expression()
        self._expect(")")
        return Node("macro", at, name.word, (target, Node("name", variable.at, variable.word), body))

    def _list(self, end: str) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while not self._is(end):
            nodes.append(self.expression())
            if not self._is(","):
                break
            self._take()
        self._expect(end)
        return tuple(nodes)

    def _primary(self) -> Node:
        token = self._take()
        if token.form in {"number", "text"}:
            return Node(token.form, token.at, token.word)
        if token.word == "(":
            inner = self.expression()
            self._expect(")")
            return inner
        if token.word == "[":
            return Node("list", token.at, "", self._list("]"))
        if token.form != "name":
            raise UnknownValue(token.word)
        if token.word in {"true", "false", "null"}:
            return Node("constant", token.at, token.word)
        if not self._is("("):
            return Node("name", token.at, token.word)
        at = self._take().at
        arguments = self._list(")")
        if token.word == "has":
            if len(arguments) != 1 or arguments[0].form != "field":
                raise UnknownValue("has")
            return Node("has", at, arguments[0].word, arguments[0].parts)
        return Node("call", at, token.word, arguments)
