from __future__ import annotations

import pytest

from whysync.argocd.scripts.lua.process import gopher_syntax_error, gopher_words


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "<string>:2: bad argument #1 to 'ipairs' (table expected, got no value)",
            "<string>:2: bad argument #1 to ipairs (table expected, got nil)",
        ),
        (
            "<string>:1: 'for' initial value must be a number",
            "<string>:1: for statement init must be a number",
        ),
        (
            "<string>:1: attempt to call field 'x' (a table value)",
            "<string>:1: attempt to call a non-function object",
        ),
        ("<string>:1: boom", "<string>:1: boom"),
    ],
)
def test_error_texts_are_those_of_gopher_lua(message: str, expected: str) -> None:
    assert gopher_words(message) == expected


def test_syntax_errors_that_name_no_token_stay() -> None:
    assert gopher_syntax_error("<string>:1: chunk has too many syntax levels") == (
        "<string>:1: chunk has too many syntax levels"
    )
