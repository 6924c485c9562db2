"""Which names promise a secret value: `DB_PASSWORD` and `apiKey` do, `secretName` and `TOKEN_URL` do not."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final


class Promise(IntEnum):
    """How surely a name stands before a secret."""

    NONE = 0
    # `secret: x`, `secretKey: x`: often the name of a Secret or of a key in one.
    MAYBE = 1
    SURE = 2


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SURE_WORDS: Final = frozenset(
    [
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "pass",
        "token",
        "apikey",
        "accesskey",
        "privatekey",
        "apitoken",
        "passwords",
        "tokens",
        "pgpass",
        "netrc",
    ]
)
_SURE_ENDS: Final = [
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "clientsecret",
    "privatekey",
]
_SURE_PAIRS: Final = {
    "key": frozenset(
        [
            "api",
            "access",
            "private",
            "encryption",
            "signing",
            "auth",
            "master",
            "account",
            "shared",
            "storage",
        ]
    ),
    "secret": frozenset(
        [
            "client",
            "app",
            "shared",
            "jwt",
            "session",
            "cookie",
            "webhook",
            "hmac",
            "signing",
            "auth",
            "oauth",
            "oidc",
            "consumer",
            "api",
        ]
    ),
    "data": frozenset(("key",)),  # a kubeconfig's keyData
}
_MAYBE_WORDS: Final = frozenset(("secret", "secrets", "authorization", "credential", "credentials"))
_MAYBE_PAIRS: Final = {"key": frozenset(("secret",))}
# What may follow without changing what the name is about: PASSWORD_1, TOKEN_BASE64.
_TRAILING: Final = frozenset(["base", "b", "value", "plain", "old", "new", "previous", "current"])

# A name with one of these tells something about a secret, not the secret: `checksum/secret`.
_ABOUT: Final = frozenset(("checksum", "hash", "digest", "sha", "fingerprint", "version", "public"))


@lru_cache(maxsize=65_536)
def promise_of(name: str) -> Promise:
    if len(name) > 200:
        return Promise.NONE
    words = [word.lower() for word in _WORD.findall(name)]
    while words and (words[-1].isdecimal() or words[-1] in _TRAILING):
        words.pop()
    if not words:
        return Promise.NONE
    if not _ABOUT.isdisjoint(words):
        return Promise.NONE
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _SURE_WORDS or last.endswith(tuple(_SURE_ENDS)) or before in _SURE_PAIRS.get(last, ()):
        return Promise.SURE
    if last in _MAYBE_WORDS or before in _MAYBE_PAIRS.get(last, ()):
        # Environment variables in capitals hold values: APP_SECRET, SECRET_KEY.
        return Promise.SURE if name.isupper() else Promise.MAYBE
    return Promise.NONE


_REFERENCE = re.compile(
    r"\$\{[^}]*\}|\$\([^)]*\)|\{\{.*\}\}|<path:[^>]*>|<[A-Za-z][\w .-]*>|ref\+\w+:.*|vault:.*"
    r"|\$\w[\w.:-]*:[\w.-]+",
    re.DOTALL,
)
_NAMELIKE = re.compile(r"[A-Za-z][A-Za-z_./-]*|[a-z]([-a-z0-9.]*[a-z0-9])?")
_NO_VALUE: Final = frozenset(("", "true", "false", "null", "none", "nil", "~"))


def is_password(name: str) -> bool:
    """A password may be short, or a number; other secrets are long."""
    lower = name.lower()
    return "pass" in lower or "pwd" in lower


def is_literal(value: str, promise: Promise) -> bool:
    """Is this a value of its own, and not a reference, a placeholder, a switch or (if in doubt) a name?"""
    if value.lower() in _NO_VALUE or _REFERENCE.fullmatch(value):
        return False
    return promise is Promise.SURE or not _NAMELIKE.fullmatch(value)
