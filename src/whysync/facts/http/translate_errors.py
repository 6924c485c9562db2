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
_ATTEMPT = re.compile(r"\('(?P<host>[^']+)', (?P<port>\d+)")


@contextmanager
def translated(name: str, path: str, proxy: Proxy | None = None) -> Generator[None]:
    """`name` is how messages call the server, `path` is the requested path, `proxy` the proxy."""
    try:
        yield
    except httpx2.TimeoutException as problem:
        connecting = isinstance(problem, (httpx2.ConnectTimeout, httpx2.PoolTimeout))
        raise TimedOut(
            what=f"{_between(name, proxy) if connecting else name} does not answer",
            why=f"{path}: {'no connection' if connecting else 'silence'} for too long",
            next="check the address and the way to it, or give it more time with --timeout",
            path=path,
        ) from problem
    except httpx2.ProxyError as problem:
        raise Unreachable(
            what=f"{_between(name, proxy)} refuses the connection",
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
        raise _lost(name, path, problem, proxy) from problem


def _between(name: str, proxy: Proxy | None) -> str:
    return f"the proxy {proxy.shown} (from {proxy.setting}) for {name}" if proxy else name


def _lost(name: str, path: str, problem: Exception, proxy: Proxy | None) -> HttpError:
    refused = next((cause for cause in _behind(problem) if isinstance(cause, ssl.SSLError)), None)
    if refused is not None:
        return _not_trusted(name, path, refused)
    detail = " ".join(str(problem).split()) or type(problem).__name__
    if isinstance(problem, (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)):
        return Unreachable(
            what=f"the connection to {name} broke off",
            why=f"{path}: {detail}",
            next="try again; if it stays so, look at the server and at proxies on the way",
            path=path,
        )
    return Unreachable(
        what=f"{_between(name, proxy)} cannot be reached",
        why="; ".join(dict.fromkeys(_reasons(problem))) or detail,
        next=f"check {proxy.setting} and the proxy itself; NO_PROXY excludes a server from it"
        if proxy
        else "check the address, the network and the VPN",
        path=path,
    )


def _reasons(problem: BaseException) -> Iterator[str]:
    """Why each attempt failed: a host may have several addresses."""
    for cause in _behind(problem):
        if isinstance(cause, socket.gaierror):
            yield (cause.strerror or str(cause)).lower()
        elif isinstance(cause, OSError) and cause.errno is not None:
            attempt = _ATTEMPT.search(cause.strerror or "")
            where = f"{attempt['host']} port {attempt['port']}: " if attempt else ""
            yield where + os.strerror(cause.errno).lower()


def _behind(problem: BaseException | None, seen: set[int] | None = None) -> Iterator[BaseException]:
    """The exception, its causes, and the members of exception groups."""
    seen = set() if seen is None else seen
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        yield problem
        if isinstance(problem, BaseExceptionGroup):
            for exception in cast("tuple[BaseException, ...]", problem.exceptions):
                yield from _behind(exception, seen)
        problem = problem.__cause__ or problem.__context__


def _not_trusted(name: str, path: str, problem: ssl.SSLError) -> HttpError:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return NotTrusted(
            what=f"the certificate of {name} is not trusted",
            why=problem.verify_message or problem.reason or str(problem),
            next="give the CA that signed it (--ca-file, or certificate-authority in the kubeconfig);"
            " --insecure goes without a check",
            path=path,
        )
    reason = (problem.reason or str(problem)).replace("_", " ").lower()
    if "wrong version number" in reason or "http request" in reason or "record layer" in reason:
        return NotTrusted(
            what=f"{name} does not speak TLS",
            why=reason,
            next="check the port; a server without TLS is given as http://…",
            path=path,
        )
    if "alert" in reason or "certificate required" in reason:
        return NotTrusted(
            what=f"{name} does not accept our certificate, or wants one",
            why=reason,
            next="check the client certificate of this login: has it expired?",
            path=path,
        )
    # `unexpected eof` and similar: the connection was closed, which may be temporary.
    return Unreachable(what=f"the connection to {name} broke off", why=f"{path}: {reason}", path=path)
