"""What all failures share: the piece of text they were read from, and how objects are named in such texts.

Failures are `msgspec.Struct`s rather than dataclasses: there are many of them, and defining them this way
costs a fortieth of the import time.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """One mechanism that a text names. `text` is the exact piece of the input; what is not told is empty."""

    text: str


class Unknown(Failure, frozen=True, kw_only=True):
    """A text that says something which whysync does not understand: the honest remainder."""


class ObjectName(msgspec.Struct, frozen=True, kw_only=True):
    """An object as a text names it: by `kind`, or by its plural `resource`, as far as told."""

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
    """Why a connection did not come about."""

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
    BAD_RESPONSE = "bad-response"
    CLOSED = "closed"
    OTHER_VERSION = "other-version"
    UNKNOWN = ""


class Peer(StrEnum):
    """Who was at the other end."""

    REPOSITORY = "repository"
    CLUSTER = "cluster"
    ARGOCD = "argocd"
    UNKNOWN = ""
