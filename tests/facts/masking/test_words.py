"""Secrets that are plain words: only their place gives them away."""

from __future__ import annotations

import pytest

from whysync.facts.masking import Masker


@pytest.mark.parametrize(
    "text",
    [
        'curl -H "Authorization: Bearer horsefoxtrot" https://api.example.com',
        "Proxy-Authorization: Bearer horsefoxtrot",
        "authorization: basic horsefoxtrot",
        "X-Api-Key: horsefoxtrot",
        "Set-Cookie: session=horsefoxtrot; Path=/",
        "Cookie: horsefoxtrot",
        "migrate --password horsefoxtrot --host db",
        "login --token horsefoxtrot",
        r"headers={\"X-Auth-Token\": \"horsefoxtrot\"}",
    ],
)
def test_words_in_the_place_of_a_credential_are_masked(text: str) -> None:
    assert "horsefoxtrot" not in Masker().masked_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: the user is not allowed",
        "the flag --password is required",
        "--token must be given",
        "Bearer authentication failed",
        "authorization mode RBAC is on",
        "invalid token in line 4",
        "--token-auth-file=/etc/tokens",
        "kubectl create secret generic shop --from-file=./dir",
        "`helm registry login r.example.com --username ****** --password ******` failed exit status 1: no",
    ],
)
def test_an_explanation_stays_readable(text: str) -> None:
    assert Masker().masked_text(text) == text


def test_a_command_in_backticks_keeps_its_end() -> None:
    text = "`helm pull shop --password horse1foxtrot` failed exit status 1: Error: not found"
    assert Masker().masked_text(text) == text.replace("horse1foxtrot", "<masked 1>")
