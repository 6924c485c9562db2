"""Addresses of servers and proxies: validated before use, and shown without passwords."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit, urlunsplit

from whysync.facts.http.errors import BadAddress

WEB = ("http", "https")


def parse_address(url: str, *, setting: str, schemes: Collection[str] = WEB) -> SplitResult:
    """Parse and validate an address; `setting` is where it was configured."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host.encode("idna" if ":" not in host else "ascii")
    except ValueError as problem:  # unbalanced brackets, an invalid port, a label that is too long
        raise _bad(url, setting, str(problem)) from problem
    if parts.scheme not in schemes:
        why = f"its scheme is {parts.scheme!r}, supported are {', '.join(schemes)}"
        raise _bad(url, setting, why if parts.scheme else "it has no scheme such as https://")
    if not host:
        raise _bad(url, setting, "it has no host")
    if port == 0:
        raise _bad(url, setting, "port 0 cannot be connected to")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise _bad(url, setting, "it contains a blank or a control character")
    return parts


def without_password(url: str) -> str:
    """The address without credentials, which would appear in every message."""
    try:
        parts = urlsplit(url)
    except ValueError:
        scheme, colon, remainder = url.rpartition("://")
        return f"{scheme}{colon}{remainder.rpartition('@')[2]}"
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _bad(url: str, setting: str, why: str) -> BadAddress:
    address = without_password(url)
    return BadAddress(
        what=f"{address!r} is not a valid address (from {setting})",
        why=why.replace(url, address),
        next=f"correct {setting}; an address is written as https://host[:port]",
    )
