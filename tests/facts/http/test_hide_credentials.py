"""Known values are hidden in every form; other words stay."""

from __future__ import annotations

import pytest

from whysync.facts.http.hide_credentials import hide_credentials

HIDDEN = {
    "alone": ("hunter2-hunter2", "it said hunter2-hunter2!", "it said <masked>!"),
    "inside of a word": ("abcdefgh", "xabcdefghx", "x<masked>x"),
    "in a URL": ("a/b c&d=efgh", "?t=a%2Fb%20c%26d%3Defgh.", "?t=<masked>."),
    "in JSON": ('say "hello"', r'{"p": "say \"hello\""}', '{"p": "<masked>"}'),
    "in base64": ("plain-words", "cGxhaW4td29yZHM=", "<masked>="),
    "over two lines": ("line one\nline two", "key line one line two end", "key <masked> end"),
    "short": ("dev", "device dev", "device <masked>"),
    "too short": ("1", "1 of 11", "1 of 11"),
    "empty": ("", "as it was", "as it was"),
    "special characters": ("a.b*c+d(e", "aXb a.b*c+d(e", "aXb <masked>"),
}


@pytest.mark.parametrize(("secret", "message", "shown"), HIDDEN.values(), ids=HIDDEN.keys())
def test_a_known_value(secret: str, message: str, shown: str) -> None:
    assert hide_credentials(message, [secret]) == shown


def test_the_longest_value_first() -> None:
    assert hide_credentials("token-12345678", ["token-12", "token-12345678"]) == "<masked>"
