"""The syntax tree of a CEL expression, with the positions of its nodes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple, NoReturn

from whysync.kubernetes.cel.values import UnknownValue

# The tokens of a CEL expression, and their positions.


_TEXT: Final = (
    r"r?\"\"\"(?:[^\\]|\\.)*?\"\"\"|r?'''(?:[^\\]|\\.)*?'''|r?'(?:[^'\\]|\\.)*'|r?\"(?:[^\"\\]|\\.)*\""
)
_TOKEN: Final = re.compile(
    rf"(?:\s|//[^\n]*+)*+(?:(?P<number>\d+\.\d+|\d+u?)|(?P<text>{_TEXT})"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<op>\|\||&&|[<>=!]=|[-+*/%!<>?:.,()\[\]{}]))",
    re.DOTALL,
)
_SPACE: Final = re.compile(r"(?:\s|//[^\n]*+)*+")
# Syntax that is not modeled: bytes, numbers in other notations, optional values, maps, quoted names.
_NOT_MODELED: Final = re.compile(
    r"`|\{|\b[bB][rR]?['\"]|\bR['\"]|\b0x|\d[eE]|(?<!\d)\.\d|\?\.|\[\s*\?|[^\x00-\x7f]"
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


class SyntaxProblem(NamedTuple):
    at: int
    problem: str


class Token(NamedTuple):
    form: str
    word: str
    at: int


def tokens_of(expression: str, problems: list[SyntaxProblem] | None = None) -> list[Token]:
    """Raises `UnknownValue` for too many tokens, and for characters that are no token, unless `problems`
    collects them.
    """
    tokens: list[Token] = []
    at, end = 0, len(expression.rstrip())
    while at < end:
        token = _TOKEN.match(expression, at)
        if len(tokens) > _MOST_TOKENS:
            raise UnknownValue(expression)
        if token is None:
            space = _SPACE.match(expression, at)
            start = space.end() if space is not None else at
            if start >= end:
                break  # a comment
            if problems is None:
                raise UnknownValue(expression)
            at = start + _unrecognized_length(expression, start)
            problems.append(
                SyntaxProblem(start, f"Syntax error: token recognition error at: '{expression[start:at]}'")
            )
            continue
        form = str(token.lastgroup)
        tokens.append(Token(form, token[form], token.start(form)))
        at = token.end()
    return tokens


def _unrecognized_length(expression: str, at: int) -> int:
    """How many characters the lexer skips: it has read the second one of what could be an operator."""
    sign = expression[at]
    if sign in "'\"":
        return len(expression) - at
    return min(2 if sign in "=&|" else 1, len(expression) - at)


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


class BadSyntax(UnknownValue):
    """The expression is not CEL; the problems are in the words of cel-go's parser, which ANTLR generates."""

    def __init__(self, *problems: SyntaxProblem) -> None:
        super().__init__("bad syntax")
        self.problems = problems


@lru_cache(maxsize=256)
def tree_of(expression: str) -> Node:
    """Raises `BadSyntax`, or `UnknownValue` for an expression with syntax that is not modeled."""
    problems: list[SyntaxProblem] | None = None if _NOT_MODELED.search(expression) else []
    try:
        reader = _Reader(tokens_of(expression, problems), len(expression))
        tree = reader.expression()
        reader.end()
    except RecursionError:
        raise UnknownValue(expression) from None
    except BadSyntax as bad:
        if problems is None:
            raise UnknownValue(expression) from None
        raise BadSyntax(*problems, *bad.problems) from None
    if problems:
        raise BadSyntax(*problems)
    return tree


_OPERAND: Final = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
_AFTER_OPERATOR: Final = f"{{'[', '{{', '(', '.', '-', '!', {_OPERAND}"
_IN_INDEX: Final = f"{{'[', '{{', '(', '.', '-', '!', '?', {_OPERAND}"
_IN_LIST: Final = f"{{'[', ']', '{{', '(', '.', ',', '-', '!', '?', {_OPERAND}"
_IN_CALL: Final = f"{{'[', '{{', '(', ')', '.', '-', '!', {_OPERAND}"


class _Reader:
    def __init__(self, tokens: list[Token], length: int) -> None:
        self._tokens = [*tokens, Token("end", "<EOF>", length)]
        self._next = 0

    def end(self) -> None:
        token, *others = self._tokens[self._next :]
        if others:
            # The parser goes on without one token, if that helps.
            found = "extraneous" if len(others) == 1 else "mismatched"
            self._refuse(f"{found} input '{token.word}' expecting <EOF>")

    @property
    def _is_at_end(self) -> bool:
        return self._tokens[self._next].form == "end"

    def _refuse(self, problem: str) -> NoReturn:
        raise BadSyntax(SyntaxProblem(self._tokens[self._next].at, f"Syntax error: {problem}"))

    def _require_more(self, expected: str, found: str = "mismatched") -> None:
        """Is there a token? Otherwise the end of the expression comes where these are expected."""
        if self._is_at_end:
            self._refuse(f"{found} input '<EOF>' expecting {expected}")

    def _is(self, *symbols: str) -> bool:
        token = self._tokens[self._next]
        return token.form not in {"text", "number", "end"} and token.word in symbols

    def _take(self) -> Token:
        token = self._tokens[self._next]
        if token.form == "end":
            if self._next > 0 and self._tokens[self._next - 1].word in _OPERATORS:
                self._require_more(_AFTER_OPERATOR)
            raise UnknownValue("the expression ends too early")
        self._next += 1
        return token

    def _expect(self, symbol: str) -> Token:
        if not self._is(symbol):
            if self._is_at_end and symbol in ")]":
                self._refuse(f"missing '{symbol}' at '<EOF>'")
            if symbol == ":":
                self._require_more("':'")
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
            self._require_more(_AFTER_OPERATOR, "extraneous")
            return Node("operator", sign.at, f"{sign.word}_", (self._unary(),))
        return self._member()

    def _member(self) -> Node:
        value = self._primary()
        while True:
            if self._is("."):
                dot = self._take()
                if self._tokens[self._next].form != "name":
                    word = "" if self._is_at_end else self._tokens[self._next].word
                    self._refuse(f"no viable alternative at input '.{word}'")
                name = self._take()
                if not self._is("("):
                    value = Node("field", dot.at, name.word, (value,))
                elif name.word in MACROS:
                    value = self._macro(value, name)
                else:
                    at = self._take().at
                    value = Node("method", at, name.word, (value, *self._list(")")))
            elif self._is("["):
                at = self._take().at
                self._require_more(_IN_INDEX)
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
        self._require_more(_IN_LIST if end == "]" else _IN_CALL)
        while not self._is(end):
            nodes.append(self.expression())
            if not self._is(","):
                break
            self._take()
        if end == "]":
            self._require_more("{']', ','}")
        self._expect(end)
        return tuple(nodes)

    def _primary(self) -> Node:
        token = self._take()
        if token.form in {"number", "text"}:
            return Node(token.form, token.at, token.word)
        if token.word == "(":
            self._require_more(_AFTER_OPERATOR)
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
            if len(arguments) != 1:
                raise UnknownValue("has")
            if arguments[0].form != "field":
                raise BadSyntax(SyntaxProblem(arguments[0].at, "invalid argument to has() macro"))
            return Node("has", at, arguments[0].word, arguments[0].parts)
        return Node("call", at, token.word, arguments)
