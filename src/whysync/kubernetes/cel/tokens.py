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
    """Raises `NotKnown` for what is no word of the language, and for more words than anybody writes."""
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


def unquoted(word: str) -> str:
    """The value of a text as it is written."""
    bare = word.removeprefix("r")
    quotes = 3 if bare[:3] in {'"""', "'''"} and len(bare) >= 6 else 1
    inner = bare[quotes:-quotes]
    if word.startswith("r"):
        return inner
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), inner)


def meant(name: str) -> str:
    """The field behind an escaped name: `a__dash__b` is `a-b`, `__in__` is `in`."""
    if name.startswith("__") and name.endswith("__") and name[2:-2] in _KEYWORDS:
        return name[2:-2]
    return re.sub(r"__(underscores|dot|dash|slash)__", lambda escape: _SIGNS[escape[1]], name)


def escaped(name: str) -> str | None:
    """How expressions name a field; `None` where they cannot."""
    if name in _KEYWORDS:
        return f"__{name}__"
    if not re.fullmatch(r"[A-Za-z_./-][\w./-]*", name):
        return None
    for word, sign in _SIGNS.items():
        name = name.replace(sign, f"__{word}__")
    return name
