"""The tokens of a CEL expression, and their positions."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from whysync.kubernetes.cel.values import UnknownValue

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
