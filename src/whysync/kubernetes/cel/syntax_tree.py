"""The syntax tree of a CEL expression, with the positions of its nodes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from whysync.kubernetes.cel.values import UnknownValue

# The tokens of a CEL expression, and their positions.


_TEXT: Final = (
    r"r?\"\"\"(?:[^\\]|\\.)*?\"\"\"|r?'''(?:[^\\]|\\.)*?'''|r?'(?:[^'\\]|\\.)*'|r?\"(?:[^\"\\]|\\.)*\""
)
_TOKEN: Final = re.compile(
    rf"\s*(?:(?P<number>\d+\.\d+|\d+u?)|(?P<text>{_TEXT})"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<op>\|\||&&|[<>=!]=|[-+*/%!<>?:.,()\[\]{}]))",
    re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_MOST_TOKENS: Final = 5000
_SIGNS: Final = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_KEYWORDS: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
        "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip


class Token(NamedTuple):
    form: str
    word: str
    at: int


def tokens_of(expression: str) -> list[Token]:
    """Raises `UnknownValue` for characters that are no token, and for too many tokens."""
    tokens: list[Token] = []
    at, end = 0, len(expression.rstrip())
    while at < end:
        token = _TOKEN.match(expression, at)
        if token is None or len(tokens) > _MOST_TOKENS:
            raise UnknownValue(expression)
        form = str(token.lastgroup)
        tokens.append(Token(form, token[form], token.start(form)))
        at = token.end()
    return tokens


def unquoted(literal: str) -> str:
    """The value of a string literal."""
    bare = literal.removeprefix("r")
    quotes = 3 if bare[:3] in {'"""', "'''"} and len(bare) >= 6 else 1
    inner = bare[quotes:-quotes]
    if literal.startswith("r"):
        return inner
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), inner)


def unescaped(name: str) -> str:
    """The field behind an escaped name: `a__dash__b` is `a-b`, `__in__` is `in`."""
    if name.startswith("__") and name.endswith("__") and name[2:-2] in _KEYWORDS:
        return name[2:-2]
    return re.sub(r"__(underscores|dot|dash|slash)__", lambda escape: _SIGNS[escape[1]], name)


def escaped(name: str) -> str | None:
    """The name of a field in expressions; `None` if they cannot refer to it."""
    if name in _KEYWORDS:
        return f"__{name}__"
    if not re.fullmatch(r"[A-Za-z_./-][\w./-]*", name):
        return None
    for name_of_sign, sign in _SIGNS.items():
        name = name.replace(sign, f"__{name_of_sign}__")
    return name


MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})
_LEVELS: Final = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"==", "!=", "<", "<=", ">", ">=", "in"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
"""Operators by precedence, lowest first."""


_OPERATORS: Final = frozenset({"!", "?", ":"}).union(*_LEVELS)


class Node(NamedTuple):
    """`form` is `number`, `text`, `constant`, `name`, `field`, `has`, `index`, `operator`, `call`, `method`,
    `macro`, `list` or `choice`; `word` is the token, `parts` are the operands, `at` is the position."""

    form: str
    at: int
    word: str
    parts: tuple[Node, ...] = ()


class OperandMissing(UnknownValue):
    """The expression ends after an operator."""


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
            after_operator = self._next > 0 and self._tokens[self._next - 1].word in _OPERATORS
            raise (OperandMissing if after_operator else UnknownValue)("the expression ends too early")
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
