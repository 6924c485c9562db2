"""Translate exceptions of the HTTP library, sockets and TLS to `HttpError`; only done here."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import cast

import httpx2

from whysync.facts.http.errors import BadAddress, HttpError, NotTrusted, TimedOut, Unreachable
from whysync.facts.http.proxies import Proxy

# How asyncio names the address of a failed attempt: "Connect call failed ('::1', 443, 0, 0)".
_FAILED_ADDRESS = re.compile(r"\('(?P<host>[^']+)', (?P<port>\d+)")


@contextmanager
def translate_errors(name: str, path: str, proxy: Proxy | None = None) -> Generator[None]:
    """`name` is how messages call the server, `path` is the requested path, `proxy` the proxy."""
    try:
        yield
    except httpx2.TimeoutException as problem:
        connecting = isinstance(problem, (httpx2.ConnectTimeout, httpx2.PoolTimeout))
        raise TimedOut(
            what=f"{_with_proxy(name, proxy) if connecting else name} does not respond",
            why=f"{path}: {'no connection' if connecting else 'no data'} for too long",
            next="check the address and the network, or allow more time with --timeout",
            path=path,
        ) from problem
    except httpx2.ProxyError as problem:
        raise Unreachable(
            what=f"{_with_proxy(name, proxy)} refuses the connection",
            why=str(problem) or "it gave no reason",
            next="check the proxy; NO_PROXY excludes a server from it",
            path=path,
        ) from problem
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as problem:
        raise BadAddress(
            what=f"{name} is not a valid address",
            why=str(problem),
            next="an address is written as https://host[:port]",
            path=path,
        ) from problem
    except (httpx2.TransportError, ssl.SSLError, OSError) as problem:
        raise _connection_error(name, path, problem, proxy) from problem


def _with_proxy(name: str, proxy: Proxy | None) -> str:
    return f"the proxy {proxy.display_url} (from {proxy.setting}) for {name}" if proxy else name


def _connection_error(name: str, path: str, problem: Exception, proxy: Proxy | None) -> HttpError:
    ssl_error = next((cause for cause in _causes(problem) if isinstance(cause, ssl.SSLError)), None)
    if ssl_error is not None:
        return _not_trusted(name, path, ssl_error)
    detail = " ".join(str(problem).split()) or type(problem).__name__
    if isinstance(problem, (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)):
        return Unreachable(
            what=f"the connection to {name} was interrupted",
            why=f"{path}: {detail}",
            next="try again; if it persists, check the server and the proxies in front of it",
            path=path,
        )
    return Unreachable(
        what=f"{_with_proxy(name, proxy)} cannot be reached",
        why="; ".join(dict.fromkeys(_reasons(problem))) or detail,
        next=f"check {proxy.setting} and the proxy itself; NO_PROXY excludes a server from it"
        if proxy
        else "check the address, the network and the VPN",
        path=path,
    )


def _reasons(problem: BaseException) -> Iterator[str]:
    """Why each attempt failed: a host may have several addresses."""
    for cause in _causes(problem):
        if isinstance(cause, socket.gaierror):
            yield (cause.strerror or str(cause)).lower()
        elif isinstance(cause, OSError) and cause.errno is not None:
            address = _FAILED_ADDRESS.search(cause.strerror or "")
            prefix = f"{address['host']} port {address['port']}: " if address else ""
            yield prefix + os.strerror(cause.errno).lower()


def _causes(problem: BaseException | None, seen: set[int] | None = None) -> Iterator[BaseException]:
    """The exception, its causes, and the members of exception groups."""
    seen = set() if seen is None else seen
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        yield problem
        if isinstance(problem, BaseExceptionGroup):
            for exception in cast("tuple[BaseException, ...]", problem.exceptions):
                yield from _causes(exception, seen)
        problem = problem.__cause__ or problem.__context__


def _not_trusted(name: str, path: str, problem: ssl.SSLError) -> HttpError:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return NotTrusted(
            what=f"the certificate of {name} is not trusted",
            why=problem.verify_message or problem.reason or str(problem),
            next="give the CA that signed it (--ca-file, or certificate-authority in the kubeconfig);"
            " --insecure skips the check",
            path=path,
        )
    reason = (problem.reason or str(problem)).replace("_", " ").lower()
    if "wrong version number" in reason or "http request" in reason or "record layer" in reason:
        return NotTrusted(
            what=f"{name} does not use TLS",
            why=reason,
            next="check the port; for a server without TLS use http://…",
            path=path,
        )
    if "alert" in reason or "certificate required" in reason:
        return NotTrusted(
            what=f"{name} rejects the client certificate, or requires one",
            why=reason,
            next="check whether the client certificate has expired",
            path=path,
        )
    # `unexpected eof` and similar: the connection was closed, which may be temporary.
    return Unreachable(what=f"the connection to {name} was interrupted", why=f"{path}: {reason}", path=path)
