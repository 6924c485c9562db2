"""`Failure`: the base class of everything that messages are parsed into, and the names of objects in them.

Failures are `msgspec.Struct`s rather than dataclasses: there are many of them, and they are imported forty
times faster.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """A failure that a message reports. `text` is the exact part of the input; unknown fields are empty."""

    text: str


class Unknown(Failure, frozen=True, kw_only=True):
    """A text that no pattern matches."""


class ObjectName(msgspec.Struct, frozen=True, kw_only=True):
    """The name of an object in a text: with its `kind` or its plural `resource`; unknown fields are empty."""

    kind: str = ""
    resource: str = ""
    group: str = ""
    namespace: str = ""
    name: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind or self.resource or self.name)

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind or self.resource} {place}".strip()


NO_OBJECT_NAME = ObjectName()


class Network(StrEnum):
    """Why a connection failed."""

    DNS = "dns"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    RESET = "reset"
    NO_ROUTE = "no-route"
    NOT_FOUND = "not-found"
    NO_ENDPOINTS = "no-endpoints"
    SERVICE_MISSING = "service-missing"
    X509 = "x509"
    TLS = "tls"
    PROXY = "proxy"
    RATE_LIMITED = "rate-limited"
    UNAVAILABLE = "unavailable"
    SERVER_ERROR = "server-error"
    REMOTE_ERROR = "remote-error"
    BAD_RESPONSE = "bad-response"
    NOT_A_CHART = "not-a-chart"
    CLOSED = "closed"
    OTHER_VERSION = "other-version"
    UNKNOWN = ""


class Lookup(msgspec.Struct, frozen=True, kw_only=True):
    """A name that could not be resolved; `server` is the DNS server, `error` what it answered."""

    name: str
    server: str = ""
    error: str = ""


class Peer(StrEnum):
    """The other end of a connection."""

    REPOSITORY = "repository"
    CLUSTER = "cluster"
    ARGOCD = "argocd"
    LOGIN_PROVIDER = "login-provider"
    UNKNOWN = ""
