"""The proxy for an address: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY of the environment."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping

import msgspec

from whysync.facts.http.address import parsed, without_password

SCHEMES = ("http", "https", "socks5", "socks5h")


class Proxy(msgspec.Struct, frozen=True, kw_only=True):
    """`setting` is the variable or field that configures it."""

    url: str
    setting: str

    @property
    def shown(self) -> str:
        return without_password(self.url)


def proxy_for(url: str, configured: str = "", environ: Mapping[str, str] | None = None) -> Proxy | None:
    """`configured` (proxy-url of a kubeconfig) has precedence over the environment. Raises `BadAddress`."""
    environ = os.environ if environ is None else environ
    if configured:
        return _checked(configured, "proxy-url of the cluster's configuration")
    parts = parsed(url, setting="the server")
    host = parts.hostname or ""
    if _is_excluded(host, parts.port, _value(environ, "no_proxy")[1]):
        return None
    for name in (f"{parts.scheme}_proxy", "all_proxy"):
        setting, written = _value(environ, name)
        if written:
            return _checked(written, setting)
    return None


def _checked(written: str, setting: str) -> Proxy:
    url = written if "://" in written else f"http://{written}"
    parsed(url, setting=setting, schemes=SCHEMES)
    return Proxy(url=url, setting=setting)


def _value(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Lower-case variables first, as in curl and Python."""
    for spelling in (name, name.upper()):
        if written := environ.get(spelling, "").strip():
            return spelling, written
    return name.upper(), ""


def _is_excluded(host: str, port: int | None, listed: str) -> bool:
    """Matches by name (and subdomains), address, network or `*`; invalid entries are ignored."""
    for raw in listed.lower().split(","):
        entry = raw.strip()
        name, colon, wanted = entry.rpartition(":")
        if colon and wanted.isdecimal() and not name.endswith(":") and (":" not in name or name[-1:] == "]"):
            if int(wanted) != port:
                continue
            entry = name
        entry = entry.strip("[]")
        if entry == "*" or (entry and _covers(entry, host)):
            return True
    return False


def _covers(entry: str, host: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        below = entry.lstrip("*").lstrip(".")
        return bool(below) and (host == below or host.endswith(f".{below}"))
