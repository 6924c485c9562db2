"""Which names indicate a secret value: `DB_PASSWORD` and `apiKey` do, `secretName` and `TOKEN_URL` do not."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final

from whysync.facts.masking.values import is_literal_value, is_namelike, is_reference, looks_secret


class Secrecy(IntEnum):
    """How strongly a name suggests that its value is a secret."""

    NONE = 0
    # `auth: x`, or anything below a map such as `secretEnv`: a secret only if it looks like one.
    HINT = 1
    # `secret: x`, `secretKey: x`: often the name of a Secret or of a key in one.
    MAYBE = 2
    SURE = 3


_WORD = re.compile(r"[A-Z]++(?![a-z])|[A-Z]?[a-z]++|[A-Z]|[0-9]++")
_SURE_WORDS: Final = frozenset(
    [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "pwd",
        "pw",
        "pass",
        "token",
        "apikey",
        "accesskey",
        "privatekey",
        "apitoken",
        "passwords",
        "tokens",
        "apikeys",
        "pgpass",
        "netrc",
        "mnemonic",
        "requirepass",
        "masterauth",
        "htpasswd",
    ]
)
_SURE_ENDS: Final = (
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "clientsecret",
    "privatekey",
)
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
            "license",
            "licence",
            "crypto",
            "cipher",
            "hmac",
            "jwt",
            "session",
            "cookie",
            "recovery",
            "unseal",
            "instrumentation",
            "subscription",
            "integration",
        ]
    ),
    "keys": frozenset(["api", "access", "private", "encryption", "signing"]),
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
_MAYBE_WORDS: Final = frozenset(
    ["secretkey", "pat", "secret", "secrets", "credential", "credentials", "creds", "cred"]
)
_MAYBE_PAIRS: Final = {
    "key": frozenset(["secret", "service", "routing", "ssh", "tls", "server", "deploy"]),
    "keys": frozenset(("service",)),
}
_HINT_WORDS: Final = frozenset(("auth", "authorization", "jwt"))
# Suffixes that do not change the meaning of a name: PASSWORD_1, TOKEN_BASE64.
_TRAILING: Final = frozenset(["base", "b", "value", "plain", "old", "new", "previous", "current"])
# A name with one of these describes a secret and does not contain it: `checksum/secret`.
_ABOUT: Final = frozenset(["checksum", "hash", "digest", "sha", "fingerprint", "version", "public"])
# `secretEnv`, `secureJsonData`: a map of secret values.
_COLLECTIONS: Final = frozenset(
    [
        "env",
        "envs",
        "environment",
        "data",
        "values",
        "vars",
        "variables",
        "config",
        "settings",
        "literals",
        "map",
        "parameters",
        "params",
        "generator",
    ]
)
_SECRET_WORDS: Final = frozenset(
    [
        "secret",
        "secrets",
        "secure",
        "sensitive",
        "credential",
        "credentials",
        "password",
        "passwords",
        "private",
        "token",
        "tokens",
    ]
)
# Below such a map, these fields name or describe a secret: `{secretName: x, key: y}`, `{type: Opaque}`.
_DESCRIBING: Final = frozenset(
    [
        "name",
        "names",
        "namespace",
        "key",
        "keys",
        "kind",
        "type",
        "ref",
        "refs",
        "path",
        "paths",
        "file",
        "files",
        "group",
        "version",
        "enabled",
        "create",
        "optional",
        "username",
        "user",
        "host",
        "port",
        "region",
        "audience",
        "algorithm",
        "policy",
        "provider",
        "property",
        "metadata",
        "labels",
        "annotations",
        "selector",
        "description",
        "schema",
        "properties",
        "id",
        "url",
        "uri",
        "address",
    ]
)

# Below a name that indicates a secret, these contain the secret itself: `password: {value: x}`.
_CONTENTS: Final = frozenset(
    ("value", "data", "stringData", "plain", "plaintext", "literal", "literals", "valueMap")
)


# Every name that indicates a secret contains one of these in lower case, or `pat` as a word.
_INDICATING: Final = {*_SURE_WORDS, *_SURE_ENDS, *_MAYBE_WORDS, *_HINT_WORDS, *_SECRET_WORDS, "key"} - {"pat"}
INDICATORS = re.compile(
    "|".join(
        sorted(
            word for word in _INDICATING if not any(other in word for other in _INDICATING if other != word)
        )
    )
)
PAT = re.compile(r"[pP][aA][tT](?![a-z])")


def may_indicate_secret(name: str) -> bool:
    """Is it worth asking for the secrecy of this name?"""
    return INDICATORS.search(name.lower()) is not None or PAT.search(name) is not None


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


@lru_cache(maxsize=65_536)
def secrecy_of(name: str) -> Secrecy:
    if len(name) > 200:
        return Secrecy.NONE
    words = _words(name)
    while words and (words[-1].isdecimal() or words[-1] in _TRAILING):
        words.pop()
    if not words or not _ABOUT.isdisjoint(words):
        return Secrecy.NONE
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _SURE_WORDS or last.endswith(_SURE_ENDS) or before in _SURE_PAIRS.get(last, ()):
        return Secrecy.SURE
    if last in _MAYBE_WORDS or before in _MAYBE_PAIRS.get(last, ()):
        # Environment variables in capitals contain values: APP_SECRET, SECRET_KEY.
        return Secrecy.SURE if name.isupper() else Secrecy.MAYBE
    return Secrecy.HINT if last in _HINT_WORDS else Secrecy.NONE


@lru_cache(maxsize=65_536)
def secrecy_below(name: str) -> Secrecy:
    """What the name of a map or list indicates for the values in it: `secretEnv`, `extraSecrets`."""
    secrecy = secrecy_of(name)
    if secrecy is Secrecy.HINT:
        return Secrecy.NONE  # `auth: {...}` is a section of settings
    if secrecy is not Secrecy.NONE:
        return Secrecy.HINT
    words = _words(name)
    is_collection = len(words) > 1 and words[-1] in _COLLECTIONS and not _SECRET_WORDS.isdisjoint(words[:-1])
    return Secrecy.HINT if is_collection else Secrecy.NONE


@lru_cache(maxsize=65_536)
def is_describing(name: str) -> bool:
    """Does this field, below a name that indicates a secret, describe the secret instead of containing it?"""
    words = _words(name)
    return bool(words) and words[-1] in _DESCRIBING


@lru_cache(maxsize=65_536)
def secrecy_of_path(path: str) -> Secrecy:
    """The same for a path such as `secretEnv.X`, `/data/password`: by its end, or by a map on the way."""
    parts = [part for part in re.split(r"[./\[\]]+", path[:1000]) if part]
    if not parts:
        return Secrecy.NONE
    own = max(secrecy_of(path), secrecy_of(parts[-1]))
    if own is not Secrecy.NONE or is_describing(parts[-1]):
        return own
    if parts[-1] == "value" and any(part.lower() in ("env", "envs") for part in parts[-3:-1]):
        return Secrecy.HINT  # only the index of the variable is known, not its name
    return max(map(secrecy_below, parts[:-1]), default=Secrecy.NONE)


def secrecy_at(key: str, below: Secrecy) -> Secrecy:
    """What is indicated for the values in the map or list at a key."""
    own = secrecy_below(key)
    if below is Secrecy.NONE:
        return own
    if key in _CONTENTS:
        return Secrecy.SURE
    return Secrecy.NONE if is_describing(key) else max(own, below)


def is_password(name: str) -> bool:
    """A password may be short, or a number; other secrets are long."""
    lower = name.lower()
    return "pass" in lower or "pwd" in lower


def is_literal(value: str, secrecy: Secrecy) -> bool:
    """Is it a value, and not a reference, a placeholder, a switch or (if in doubt) a name?"""
    if not is_literal_value(value) or is_reference(value):
        return False
    if secrecy is Secrecy.SURE:
        return True
    return looks_secret(value) if secrecy is Secrecy.HINT else not is_namelike(value)
