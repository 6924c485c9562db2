"""Lua's complaints in the words of gopher-lua, which people see in Argo CD and search for."""

from __future__ import annotations

import re

_REWORDED = (
    (r"bad argument #(\d+) to '([^']*)'", r"bad argument #\1 to \2"),
    (r"got no value\)", "got nil)"),
    (r"'for' initial value must be a number", "for statement init must be a number"),
    (r"'for' (limit|step) must be a number", r"for statement \1 must be a number"),
    (r"attempt to compare two (\w+) values", r"attempt to compare \1 with \1"),
    (r"attempt to call .*\(a \w+ value\)", "attempt to call a non-function object"),
    (r"attempt to call a \w+ value", "attempt to call a non-function object"),
    (r"stack overflow.*", "stack overflow"),
)
_SYNTAX = re.compile(r"<string>:(\d+): (.*) near '(.*)'", re.DOTALL)


def gopher_words(message: str) -> str:
    """Differs from gopher-lua: the operands of arithmetic on two tables stay unnamed."""
    for pattern, words in _REWORDED:
        message = re.sub(pattern, words, message, flags=re.DOTALL)
    return message


def gopher_syntax_error(message: str) -> str:
    """Differs from gopher-lua: no column."""
    found = _SYNTAX.fullmatch(message)
    if found is None:
        return message
    line, _, token = found.groups()
    if token == "<eof>":
        return "<string> at EOF:   syntax error\n"
    return f"<string> line:{line} near '{token}':   syntax error\n"
