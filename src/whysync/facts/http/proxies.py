"""The proxy for an address: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY of the environment."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping

import msgspec

from whysync.facts.http.address import parse_address, without_password

SCHEMES = ("http", "https", "socks5", "socks5h")


class Proxy(msgspec.Struct, frozen=True, kw_only=True):
    """`setting` is the variable or field that configures it."""

    url: str
    setting: str

    @property
    def display_url(self) -> str:
        return without_password(self.url)


def proxy_for(url: str, configured: str = "", environ: Mapping[str, str] | None = None) -> Proxy | None:
    """`configured` (proxy-url of a kubeconfig) has precedence over the environment. Raises `BadAddress`."""
    environ = os.environ if environ is None else environ
    if configured:
        return _validated(configured, "proxy-url of the cluster's configuration")
    parts = parse_address(url, setting="the server")
    host = parts.hostname or ""
    if _is_excluded(host, parts.port, _value(environ, "no_proxy")[1]):
        return None
    for name in (f"{parts.scheme}_proxy", "all_proxy"):
        setting, value = _value(environ, name)
        if value:
            return _validated(value, setting)
    return None


def _validated(value: str, setting: str) -> Proxy:
    url = value if "://" in value else f"http://{value}"
    parse_address(url, setting=setting, schemes=SCHEMES)
    return Proxy(url=url, setting=setting)


def _value(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Lower-case variables first, as in curl and Python."""
    for spelling in (name, name.upper()):
        if value := environ.get(spelling, "").strip():
            return spelling, value
    return name.upper(), ""


def _is_excluded(host: str, port: int | None, no_proxy: str) -> bool:
    """Matches by name (and subdomains), address, network or `*`; invalid entries are ignored."""
    for raw in no_proxy.lower().split(","):
        entry = raw.strip()
        name, colon, entry_port = entry.rpartition(":")
        if (
            colon
            and entry_port.isdecimal()
            and not name.endswith(":")
            and (":" not in name or name[-1:] == "]")
        ):
            if int(entry_port) != port:
                continue
            entry = name
        entry = entry.strip("[]")
        if entry == "*" or (entry and _matches(entry, host)):
            return True
    return False


def _matches(entry: str, host: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        domain = entry.lstrip("*").lstrip(".")
        return bool(domain) and (host == domain or host.endswith(f".{domain}"))
