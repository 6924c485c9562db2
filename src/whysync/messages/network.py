"""Connections in a text: why one failed, and its host, URL or Service."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

from whysync.messages.failure import Lookup, Network


class Distrust(StrEnum):
    UNKNOWN_AUTHORITY = "unknown-authority"
    EXPIRED = "expired"
    NOT_YET_VALID = "not-yet-valid"
    WRONG_HOST = "wrong-host"
    HOST_KEY_UNKNOWN = "host-key-unknown"
    HOST_KEY_CHANGED = "host-key-changed"
    OTHER = "other"


# The first that occurs is used: the error of a certificate is wrapped in one of the connection.
_REASONS: tuple[tuple[str, Network], ...] = (
    ("x509:", Network.X509),
    ("certificate verify failed", Network.X509),
    ("proxyconnect", Network.PROXY),
    ("Proxy Authentication Required", Network.PROXY),
    ("proxy error", Network.PROXY),
    ("rate limit exceeded", Network.RATE_LIMITED),
    ("no such host", Network.DNS),
    ("Could not resolve host", Network.DNS),
    ("Temporary failure in name resolution", Network.DNS),
    ("server misbehaving", Network.DNS),
    ("Name or service not known", Network.DNS),
    ("no endpoints available", Network.NO_ENDPOINTS),
    ("onnection refused", Network.REFUSED),
    ("actively refused", Network.REFUSED),
    ("i/o timeout", Network.TIMEOUT),
    ("deadline exceeded", Network.TIMEOUT),
    ("TLS handshake timeout", Network.TIMEOUT),
    ("Client.Timeout", Network.TIMEOUT),
    ("onnection timed out", Network.TIMEOUT),
    ("Operation timed out", Network.TIMEOUT),
    ("request timed out", Network.TIMEOUT),
    ("Timeout: ", Network.TIMEOUT),
    ("request canceled", Network.TIMEOUT),
    ("in the time allotted", Network.TIMEOUT),
    ("no route to host", Network.NO_ROUTE),
    ("network is unreachable", Network.NO_ROUTE),
    ("connection reset", Network.RESET),
    ("connection lost", Network.RESET),
    ("broken pipe", Network.RESET),
    ("tls:", Network.TLS),
    ("server gave HTTP response to HTTPS client", Network.TLS),
    ("too many requests", Network.RATE_LIMITED),
    ("Too Many Requests", Network.RATE_LIMITED),
    ("unable to handle the request", Network.UNAVAILABLE),
    ("Service Unavailable", Network.UNAVAILABLE),
    ("could not find the requested resource", Network.NOT_FOUND),
    ("Bad Gateway", Network.SERVER_ERROR),
    ("Internal Server Error", Network.SERVER_ERROR),
    ("internal server error", Network.SERVER_ERROR),
    ("an error on the server", Network.SERVER_ERROR),
    ("rejected our request", Network.BAD_RESPONSE),
    ("stream error", Network.RESET),
    ("unknown method", Network.OTHER_VERSION),
    ("unknown service", Network.OTHER_VERSION),
    ("GOAWAY", Network.CLOSED),
    ("EOF", Network.CLOSED),
)


_DISTRUSTS: tuple[tuple[str, Distrust], ...] = (
    ("unknown authority", Distrust.UNKNOWN_AUTHORITY),
    ("self-signed", Distrust.UNKNOWN_AUTHORITY),
    ("self signed", Distrust.UNKNOWN_AUTHORITY),
    ("unable to get local", Distrust.UNKNOWN_AUTHORITY),
    ("expired", Distrust.EXPIRED),
    ("not yet valid", Distrust.NOT_YET_VALID),
    ("is valid for", Distrust.WRONG_HOST),
    ("not valid for", Distrust.WRONG_HOST),
    ("IP SANs", Distrust.WRONG_HOST),
    ("Common Name", Distrust.WRONG_HOST),
    ("does not match target host", Distrust.WRONG_HOST),
    ("no alternative certificate subject name", Distrust.WRONG_HOST),
    ("mismatch", Distrust.HOST_KEY_CHANGED),
    ("HOST IDENTIFICATION HAS CHANGED", Distrust.HOST_KEY_CHANGED),
    ("Offending", Distrust.HOST_KEY_CHANGED),
    ("key is unknown", Distrust.HOST_KEY_UNKNOWN),
    ("ost key", Distrust.HOST_KEY_UNKNOWN),
)


def reason_of(text: str) -> Network:
    return next((reason for phrase, reason in _REASONS if phrase in text), Network.UNKNOWN)


def distrust_of(text: str) -> Distrust:
    """Why a certificate or a host key was not trusted."""
    distrust = next((distrust for phrase, distrust in _DISTRUSTS if phrase in text), Distrust.OTHER)
    # Go's message `certificate has expired or is not yet valid` continues with the comparison.
    return Distrust.NOT_YET_VALID if distrust is Distrust.EXPIRED and "is before" in text else distrust


@cache
def _service() -> re.Pattern[str]:
    return re.compile(
        r"https?://(?P<name>[a-z0-9][a-z0-9-]{0,62})\.(?P<namespace>[a-z0-9][a-z0-9-]{0,62})\.svc\b"
    )


def service_of(url: str) -> tuple[str, str]:
    """The Service and its namespace in `https://name.namespace.svc:443/…`, as webhooks are called."""
    match = _service().search(url[:500])
    return (match["name"], match["namespace"]) if match else ("", "")


@cache
def _url() -> re.Pattern[str]:
    return re.compile(
        r"(?:\b(?:https?|ssh|git|oci)://|\b[\w.-]{1,60}@(?=[\w.-]{1,200}:))"
        r"(?:[^\s/@'\"`]{1,100}@)?[^\s'\"`,)>]{1,300}"
    )


def url_in(text: str) -> str:
    match = _url().search(text[:4000])
    return match[0].rstrip(".:;") if match else ""


def is_to_argocd(text: str) -> bool:
    """Does a request fail that the `argocd` command sends to Argo CD, or Argo CD to its login provider?"""
    return _to_argocd().search(text[:4000]) is not None


@cache
def _to_argocd() -> re.Pattern[str]:
    return re.compile(
        r"/[a-z]{3,30}\.[A-Z]\w{2,60}Service/[A-Z]|/\.well-known/openid-configuration|"
        r"Failed to query provider"
    )


def host_of(url: str) -> str:
    """The host of `https://user@host:8443/x` or `git@host:org/repo`, without port and user."""
    without_scheme = url.partition("://")[2] if "://" in url else url
    authority = without_scheme.partition("/")[0].rpartition("@")[2]
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0]


@cache
def _dialled() -> re.Pattern[str]:
    return re.compile(
        r"lookup (?!error: )(?P<name>[\w.-]{1,253})(?: on | ?:)"
        r"|dial (?:tcp|udp)[46]?:? (?P<address>\[[0-9a-fA-F:.]{2,60}\]|"
        r"[\w.<>-]{1,253}):(?P<port>\d{1,5}|<port>)"
        r"|Could not resolve host:? '?(?P<curl>[\w.-]{1,253})"
        r"|Failed to connect to (?P<to>[\w.-]{1,253}) port (?P<toport>\d{1,5})"
        r"|connect to host (?P<ssh>[\w.-]{1,253}) port (?P<sshport>\d{1,5})"
        r"|resolve hostname (?P<sshname>[\w.-]{1,253})"
    )


def dialled(text: str) -> tuple[str, int | None]:
    """The host and port to which a connection was tried."""
    match = _dialled().search(text[:8192])
    if match is None:
        return "", None
    host = (
        match["name"]
        or match["address"]
        or match["curl"]
        or match["to"]
        or match["ssh"]
        or match["sshname"]
        or ""
    )
    port = match["port"] or match["toport"] or match["sshport"] or ""
    return host.strip("[]"), int(port) if port.isdecimal() else None


@cache
def _lookup() -> re.Pattern[str]:
    return re.compile(
        r"lookup (?!error: )(?P<name>[\w.-]{1,253})"
        r"(?: on (?P<server>\[[0-9a-fA-F:.]{2,60}\]|[\w.-]{1,253}):\d{1,5})?: "
        r"(?:(?:read|write|dial) [^\s:]{1,20} .{1,200}: )?(?P<error>[a-z][\w/ ]{2,60})"
    )


def lookup_in(text: str) -> Lookup | None:
    """The failed DNS lookup of `lookup NAME on 10.96.0.10:53: no such host`, as Go reports it."""
    match = _lookup().search(text[:8192])
    if match is None:
        return None
    return Lookup(
        name=match["name"], server=(match["server"] or "").strip("[]"), error=match["error"].strip()
    )


def api_server_in(text: str) -> str:
    """The API server of a URL such as `https://host:6443/version?timeout=32s`; empty for any other URL."""
    match = _api_server().search(text[:4000])
    return match[1] if match else ""


@cache
def _api_server() -> re.Pattern[str]:
    return re.compile(r"(https?://[^\s/\"']{1,300})/(?:version\b|apis?\b|openapi\b)")
