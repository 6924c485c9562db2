"""Which proxy is used for an address, and how one that cannot be used is reported."""

from __future__ import annotations

import asyncio

import pytest

from tests.facts.http.test_client import QUICK
from whysync.facts.http import errors
from whysync.facts.http.client import Client
from whysync.facts.http.proxies import proxy_for

PROXY = {
    "HTTPS_PROXY": "http://proxy.example:3128",
    "HTTP_PROXY": "plain.example:80",
    "ALL_PROXY": "http://all",
}

CHOSEN: dict[str, tuple[str, dict[str, str], str]] = {
    "https": ("https://x", PROXY, "http://proxy.example:3128"),
    "http, without a scheme": ("http://x", PROXY, "http://plain.example:80"),
    "all": ("https://x", {"ALL_PROXY": "http://all"}, "http://all"),
    "small letters first": ("https://x", {**PROXY, "https_proxy": "http://small"}, "http://small"),
    "none": ("https://x", {}, ""),
    "empty": ("https://x", {"HTTPS_PROXY": " "}, ""),
    "everything excluded": ("https://x", {**PROXY, "NO_PROXY": "a, *"}, ""),
    "a name": ("https://api.inside.example", {**PROXY, "NO_PROXY": "inside.example"}, ""),
    "a name with a dot": ("https://api.inside.example", {**PROXY, "NO_PROXY": ".inside.example"}, ""),
    "not a part of a name": ("https://notinside.example", {**PROXY, "NO_PROXY": "inside.example"}, "proxy"),
    "an address": ("https://10.1.2.3:6443", {**PROXY, "NO_PROXY": "10.1.2.3"}, ""),
    "a network": ("https://10.1.2.3:6443", {**PROXY, "NO_PROXY": "10.0.0.0/8"}, ""),
    "another network": ("https://10.1.2.3", {**PROXY, "NO_PROXY": "10.2.0.0/16"}, "proxy"),
    "an IPv6 network": ("https://[fd00::1]:6443", {**PROXY, "NO_PROXY": "fd00::/8"}, ""),
    "an IPv6 address": ("https://[::1]:6443", {**PROXY, "NO_PROXY": "[::1]"}, ""),
    "its port": ("https://x:6443", {**PROXY, "NO_PROXY": "x:6443"}, ""),
    "another port": ("https://x:6443", {**PROXY, "NO_PROXY": "x:443"}, "proxy"),
    "nonsense": (
        "https://x",
        {**PROXY, "NO_PROXY": "[::1,http://[,10.0.0.0/99,:::,\u2603,,:0,[x]:1"},
        "proxy",
    ),
}


@pytest.mark.parametrize(("url", "environ", "expected"), CHOSEN.values(), ids=CHOSEN.keys())
def test_the_proxy_of_an_address(url: str, environ: dict[str, str], expected: str) -> None:
    proxy = proxy_for(url, environ=environ)
    assert bool(proxy) == bool(expected)
    assert proxy is None or expected in proxy.url


@pytest.mark.parametrize(
    "written",
    [
        "http://127.0.0.1:99999",
        "http://[::1",
        "gopher://x",
        "http://",
        "http://x:y",
        "http://me:hunter2@p:99999",
    ],
)
@pytest.mark.parametrize("setting", ["HTTP_PROXY", "ALL_PROXY", "proxy-url"])
def test_a_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, written: str, setting: str) -> None:
    if setting != "proxy-url":
        monkeypatch.setenv(setting, written)

    async def talk() -> None:
        proxy_url = written if setting == "proxy-url" else ""
        async with Client("http://127.0.0.1:1", proxy=proxy_url, limits=QUICK) as client:
            await client.json("/")

    with pytest.raises(errors.BadAddress) as caught:
        asyncio.run(talk())
    assert setting in caught.value.what
    assert "hunter2" not in f"{caught.value.what} {caught.value.why}"


def test_a_proxy_that_nobody_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:hunter2@127.0.0.1:9")

    async def talk() -> None:
        async with Client("http://api.inside.example", limits=QUICK) as client:
            await client.json("/")

    with pytest.raises(errors.Unreachable) as caught:
        asyncio.run(talk())
    assert "http://127.0.0.1:9 (from HTTP_PROXY)" in caught.value.what
    assert "connection refused" in caught.value.why
    assert "hunter2" not in f"{caught.value.what} {caught.value.why}"
