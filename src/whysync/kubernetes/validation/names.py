"""Syntax of names, labels, ports and percentages; each check returns the messages of what is wrong.

Mirrors apimachinery `util/validation` and `api/validate/content`, Kubernetes 1.36. Lengths are in bytes;
the two packages word this differently: `characters` for names, `bytes` for labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, wraps
from typing import TypeAlias

NameForm: TypeAlias = Callable[[str], tuple[str, ...]]


def _remembered(check: Callable[[str], Iterator[str]]) -> NameForm:
    """The messages, kept for the names that were checked last: most objects repeat those of others."""

    @lru_cache(maxsize=4096)
    @wraps(check)
    def messages(name: str) -> tuple[str, ...]:
        return tuple(check(name))

    return messages


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"
_HEADER = "[-A-Za-z0-9]+"
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_ENDS = "and must start and end with an alphanumeric character"
_LABEL_TEXT = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}"
_SUBDOMAIN_TEXT = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
)
_DNS_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character"
)
_WILDCARD_TEXT = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
    "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
_KEY_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_LABEL_VALUE_TEXT = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
)
_CONFIG_KEY_TEXT = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_ENV_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"


@_remembered
def dns_label(name: str) -> Iterator[str]:
    """RFC 1123, one label: Services, Namespaces, containers, volumes. Mirrors `IsDNS1123Label`."""
    if _bytes(name) > 63:
        yield _longer_than(63)
    if not _fits(_LABEL, name):
        if _fits(_SUBDOMAIN, name):
            yield "must not contain dots"
        else:
            yield _pattern(_LABEL_TEXT, _LABEL, "my-name", "123-abc")


@_remembered
def dns_subdomain(name: str) -> Iterator[str]:
    """RFC 1123, labels separated by dots: the syntax of most names. Mirrors `IsDNS1123Subdomain`."""
    if _bytes(name) > 253:
        yield _longer_than(253)
    if not _fits(_SUBDOMAIN, name):
        yield _pattern(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com")


@_remembered
def dns_1035_label(name: str) -> Iterator[str]:
    if _bytes(name) > 63:
        yield _longer_than(63)
    if not _fits(_DNS_1035, name):
        yield _pattern(_DNS_1035_TEXT, _DNS_1035, "my-name", "abc-123")


@_remembered
def wildcard_subdomain(name: str) -> Iterator[str]:
    if _bytes(name) > 253:
        yield _longer_than(253)
    if not _fits(_WILDCARD, name):
        yield _pattern(_WILDCARD_TEXT, _WILDCARD, "*.example.com")


@_remembered
def path_segment(name: str) -> Iterator[str]:
    """Checks a name that is a URL path segment: RBAC objects, and the minimum for every name."""
    if name in (".", ".."):
        yield f"may not be '{name}'"
        return
    for character in "/%":
        if character in name:
            yield f"may not contain '{character}'"


@_remembered
def qualified_name(key: str) -> Iterator[str]:
    """`name` or `prefix.example/name`: keys of labels, finalizers, conditions. Mirrors `IsQualifiedName`."""
    prefix, slash, name = key.partition("/")
    if "/" in name:
        rule = _pattern(_KEY_TEXT, _KEY, "MyName", "my.name", "123-abc")
        prefixed = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        yield f"a valid label key {rule} {prefixed}"
        return
    if not slash:
        name = key
    elif not prefix:
        yield "prefix part must be non-empty"
    else:
        if _bytes(prefix) > 253:
            yield "prefix part must be no more than 253 bytes"
        if not _fits(_SUBDOMAIN, prefix):
            yield f"prefix part {_pattern(_SUBDOMAIN_TEXT, _SUBDOMAIN, 'example.com')}"
    if not name:
        yield "name part must be non-empty"
    elif _bytes(name) > 63:
        yield "name part must be no more than 63 bytes"
    if not _fits(_KEY, name):
        yield f"name part {_pattern(_KEY_TEXT, _KEY, 'MyName', 'my.name', '123-abc')}"


@_remembered
def label_value(value: str) -> Iterator[str]:
    if _bytes(value) > 63:
        yield "must be no more than 63 bytes"
    if not _fits(_LABEL_VALUE, value):
        yield _pattern(_LABEL_VALUE_TEXT, _LABEL_VALUE, "MyValue", "my_value", "12345")


@_remembered
def config_key(key: str) -> Iterator[str]:
    """Keys of ConfigMaps and Secrets, which become file names."""
    if _bytes(key) > 253:
        yield _longer_than(253)
    if not _fits(_CONFIG_KEY, key):
        yield _pattern(_CONFIG_KEY_TEXT, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name")
    if key in (".", ".."):
        yield f"must not be '{key}'"
    elif key.startswith(".."):
        yield "must not start with '..'"


@_remembered
def environment_name(name: str) -> Iterator[str]:
    if not name:
        yield "environment variable name must be non-empty"
    elif any(not " " <= character <= "~" or character == "=" for character in name):
        yield _ENV_TEXT


@_remembered
def header_name(name: str) -> Iterator[str]:
    if not _fits(_HEADER, name):
        yield _pattern(
            "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER, "X-Header-Name"
        )


def port_number(port: int) -> Iterator[str]:
    if not 1 <= port <= 65535:
        yield "must be between 1 and 65535, inclusive"


@_remembered
def port_name(name: str) -> Iterator[str]:
    if _bytes(name) > 15:
        yield _longer_than(15)
    if not _fits("[-a-z0-9]+", name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not any("a" <= character <= "z" for character in name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name and (name[0] == "-" or name[-1] == "-"):
        yield "must not begin or end with a hyphen"


@_remembered
def percent(text: str) -> Iterator[str]:
    if not _fits(_PERCENT, text):
        rule = "a valid percent string must be a numeric string followed by an ending '%'"
        yield _pattern(rule, _PERCENT, "1%", "93%")


def is_url_path(text: str) -> bool:
    return _fits(_PATH, text)


def url_path_text() -> str:
    return _pattern("Invalid path", _PATH)


def mask_trailing_dash(name: str) -> str:
    """A `generateName` without its trailing dash, to which a suffix is added. Mirrors `maskTrailingDash`."""
    return name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name


def _pattern(text: str, pattern: str, *examples: str) -> str:
    examples_text = " or ".join(f"'{example}', " for example in examples)
    return f"{text} ({f'e.g. {examples_text}' if examples else ''}regex used for validation is '{pattern}')"


def _longer_than(max_length: int) -> str:
    return f"must be no more than {max_length} characters"


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _fits(pattern: str, text: str) -> bool:
    return _compiled(pattern).fullmatch(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
