"""Foreign exceptions become problems of ours, here and nowhere else."""

from __future__ import annotations

import ssl
from collections.abc import Generator
from contextlib import contextmanager

import httpx2

from whysync.sources.net.problems import Garbled, NetProblem, NotTrusted, TimedOut, Unreachable


@contextmanager
def translated(name: str, path: str) -> Generator[None]:
    """`name` is what messages call the server, `path` what was asked for."""
    try:
        yield
    except httpx2.TimeoutException as problem:
        connecting = isinstance(problem, (httpx2.ConnectTimeout, httpx2.PoolTimeout))
        raise TimedOut(
            what=f"{name} does not answer",
            why=f"{path}: {'no connection' if connecting else 'silence'} for too long",
            next="check the address and the way to it, or give it more time with --timeout",
            path=path,
        ) from problem
    except httpx2.ProxyError as problem:
        raise Unreachable(
            what=f"the proxy on the way to {name} does not let us through",
            why=str(problem) or "it gave no reason",
            next="check HTTPS_PROXY, NO_PROXY and proxy-url",
            path=path,
        ) from problem
    except httpx2.DecodingError as problem:
        raise Garbled(
            what=f"the answer to {path} cannot be unpacked", why=str(problem), next="ask again", path=path
        ) from problem
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as problem:
        raise Unreachable(
            what=f"{name} is not an address that can be asked",
            why=str(problem),
            next="give it as https://host[:port]",
            path=path,
        ) from problem
    except (httpx2.TransportError, ssl.SSLError, OSError) as problem:
        raise _lost(name, path, problem) from problem


def _lost(name: str, path: str, problem: Exception) -> NetProblem:
    refused = _tls_failure(problem)
    if refused is not None:
        return _not_trusted(name, path, refused)
    told = " ".join(str(problem).split()) or type(problem).__name__
    if isinstance(problem, (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)):
        return Unreachable(
            what=f"the connection to {name} broke off",
            why=f"{path}: {told}",
            next="try again; if it stays so, look at the server and at proxies on the way",
            path=path,
        )
    return Unreachable(
        what=f"{name} cannot be reached",
        why=told,
        next="check the address, the network and the VPN",
        path=path,
    )


def _tls_failure(problem: BaseException | None) -> ssl.SSLError | None:
    seen: set[int] = set()
    while problem is not None and id(problem) not in seen:
        if isinstance(problem, ssl.SSLError):
            return problem
        seen.add(id(problem))
        problem = problem.__cause__ or problem.__context__
    return None


def _not_trusted(name: str, path: str, problem: ssl.SSLError) -> NetProblem:
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
    # `unexpected eof` and its like: somebody hung up, which may be better the next time.
    return Unreachable(what=f"the connection to {name} broke off", why=f"{path}: {reason}", path=path)
