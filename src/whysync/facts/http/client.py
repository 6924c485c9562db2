"""The HTTP client for Argo CD and Kubernetes: retries, rate limits and deadlines.

    async with Client("https://argocd.example.com", auth=bearer(token)) as client:
        apps = await client.object("/api/v1/applications", {"selector": "team=shop"})

Anything but a response raises an `HttpError`. Cancelling the task (Ctrl-C) closes the connections.
"""

from __future__ import annotations

import asyncio
import logging
import math
import zlib
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar
from urllib.parse import urljoin, urlsplit

import msgspec

from whysync.facts.http.address import parse_address, without_password
from whysync.facts.http.auth import Auth, Headers, StaticHeaders
from whysync.facts.http.errors import (
    HttpError,
    MalformedResponse,
    RedirectedElsewhere,
    TimedOut,
    TooLarge,
    Unreachable,
)
from whysync.facts.http.hide_credentials import hide_credentials
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.proxies import Proxy, proxy_for
from whysync.facts.http.rate_limit import RateLimit, http_date
from whysync.facts.http.response import Response
from whysync.facts.http.retry import RetryPolicy, out_of_time
from whysync.facts.http.status_errors import error_of
from whysync.facts.http.tls import Tls, ssl_context
from whysync.json_tree import Json, Object

if TYPE_CHECKING:
    import httpx2

_SETTLE_SECONDS: Final = 1.0
"""Seconds. A handshake takes milliseconds; longer requests are cancelled."""

_GZIP = zlib.MAX_WBITS | 16

T = TypeVar("T")
Value = str | int | Sequence[str]
Params = Mapping[str, Value]
JSON = "application/json"

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
log = logging.getLogger(__name__)
# Their debug logs print headers, cookies and URLs; our own log line of each request replaces them.
_VERBOSE_LOGGERS = ("httpx2", "httpcore2")


class Count(msgspec.Struct):
    """Requests and bytes so far."""

    requests: int = 0
    retries: int = 0
    bytes: int = 0


class Client:
    """`name` is how messages call the server, `setting` is where its address was configured, and `login` what
    a user does if it rejects the credentials.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str = "",
        auth: Auth | None = None,
        tls: Tls | None = None,
        limits: HttpLimits | None = None,
        proxy: str = "",
        setting: str = "the server's address",
        login: str = "",
    ) -> None:
        self.url = without_password(url).rstrip("/")
        self._setting = setting
        self._login = login
        self.name = name or self.url
        self.limits = limits or HttpLimits()
        self.count = Count()
        self._auth: Auth = auth or StaticHeaders()
        self._tls = tls or Tls()
        self._proxy_url = proxy
        self._proxy: Proxy | None = None
        self._name_in_errors = self.name
        self._http: httpx2.AsyncClient | None = None
        self._in_flight = InFlight()
        self._slots = asyncio.Semaphore(self.limits.connections)
        self._rate_limit = RateLimit(self.limits)
        self._renewing = asyncio.Lock()
        self._renewals = 0
        self._server_date: datetime | None = None

    async def __aenter__(self) -> Self:
        import httpx2

        for name in _VERBOSE_LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        limits = self.limits
        host = parse_address(self.url, setting=self._setting).hostname or ""
        self._name_in_errors = self.name if host in self.name.lower() else f"{self.name} at {self.url}"
        self._proxy = proxy_for(self.url, self._proxy_url)
        try:
            self._http = httpx2.AsyncClient(
                verify=ssl_context(self._tls),
                proxy=self._proxy.url if self._proxy else None,
                trust_env=False,
                timeout=httpx2.Timeout(limits.idle_seconds, connect=limits.connect_seconds, pool=None),
                limits=httpx2.Limits(
                    max_connections=limits.connections,
                    max_keepalive_connections=limits.connections,
                    keepalive_expiry=30,
                ),
                headers={"User-Agent": "whysync", "Accept-Encoding": "gzip"},
            )
        except (ValueError, ImportError, httpx2.InvalidURL) as problem:
            route = f"{self._proxy.display_url} (from {self._proxy.setting})" if self._proxy else self.url
            raise Unreachable(
                what=f"{self.name} cannot be reached through {route}",
                why=without_password(str(problem)),
                next="use an http:// or https:// proxy, or exclude the server with NO_PROXY",
            ) from problem
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._in_flight.settled()
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    # Requests

    async def json(self, path: str, params: Params | None = None, *, accept: str = JSON) -> Json:
        return await self._within_deadline(_Request(path, params, accept), Response.json)

    async def object(self, path: str, params: Params | None = None, *, accept: str = JSON) -> Object:
        return await self._within_deadline(_Request(path, params, accept), Response.object)

    async def get(self, path: str, params: Params | None = None, *, accept: str = "*/*") -> Response:
        return await self._within_deadline(_Request(path, params, accept), lambda response: response)

    async def post(self, path: str, body: Object) -> Object:
        """For read requests that use POST (a review, a login): they store nothing."""
        return await self._within_deadline(
            _Request(path, None, JSON, msgspec.json.encode(body)), Response.object
        )

    async def lines(
        self, path: str, params: Params | None = None, *, silence: float
    ) -> AsyncGenerator[bytes]:
        """The lines of a response that does not end, such as a watch; `silence` is the longest pause in it.

        It is tried once: whoever follows it has to connect again after an error and after its end.
        """
        try:
            async for line in self._lines(path, params, silence):
                yield line
        except HttpError as problem:
            raise problem.rewritten(
                lambda text: hide_credentials(text, self._auth.secrets())
            ) from problem.__cause__

    async def _lines(self, path: str, params: Params | None, silence: float) -> AsyncGenerator[bytes]:
        from whysync.facts.http.translate_errors import translate_errors

        headers = {**await self._auth.headers(), "Accept-Encoding": "identity"}
        with translate_errors(self._name_in_errors, path, self._proxy):
            response = await self._send(
                self._address(path), _Request(path, params, JSON), headers, silence=silence
            )
            try:
                if response.status_code >= 300:
                    error = error_of(await self._read_response(response, path), self.name, self._login)
                    if response.status_code == 401:
                        await self._renew(self._renewals)
                    raise error
                rest = b""
                async for chunk in response.aiter_raw():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        yield line
                    if len(rest) > self.limits.answer_bytes:
                        raise TooLarge(what=f"a line of the response to {path} is too large", path=path)
            finally:
                await response.aclose()

    # The server's clock

    def now(self) -> datetime | None:
        """The latest `Date` header of the server, whose clock wrote the timestamps of objects.

        The same responses give the same time, however long reading took.
        """
        return self._server_date

    # One request with its retries

    async def _within_deadline(self, request: _Request, read: Callable[[Response], T]) -> T:
        """The deadline includes everything: the queue, the login, each attempt and the pauses."""
        remaining = self.limits.deadline.remaining()
        try:
            async with asyncio.timeout(remaining if math.isfinite(remaining) else None):
                return await self._with_retries(request, read)
        except TimeoutError:
            problem = out_of_time(self.limits.deadline, self.name, request.path)
        except HttpError as error:
            problem = error
        # A server may repeat what we sent.
        raise problem.rewritten(
            lambda text: hide_credentials(text, self._auth.secrets())
        ) from problem.__cause__

    async def _with_retries(self, request: _Request, read: Callable[[Response], T]) -> T:
        retries = RetryPolicy(self.limits, self.name, request.path)
        renewed = False
        while True:
            renewals = self._renewals
            response: Response | None = None
            try:
                response = await self._attempt(request, retries)
                if response.status < 300:
                    return read(response)
                if response.status == 401 and not renewed:
                    renewed = True
                    if await self._renew(renewals):
                        continue
                problem: HttpError = error_of(response, self.name, self._login)
            except HttpError as error:
                problem = error
            await asyncio.sleep(retries.pause(problem, response))
            self.count.retries += 1

    async def _renew(self, renewals: int) -> bool:
        """If many requests get a 401 at once, one renews the credentials; the others are sent again."""
        async with self._renewing:
            if self._renewals != renewals:
                return True
            if not await self._auth.renew():
                return False
            self._renewals += 1
            return True

    async def _attempt(self, request: _Request, retries: RetryPolicy) -> Response:
        from whysync.facts.http.translate_errors import translate_errors

        async with self._slots:
            await self._rate_limit.wait()
            seconds = retries.remaining()
            headers = await self._auth.headers()
            try:
                async with asyncio.timeout(seconds):
                    with (
                        translate_errors(self._name_in_errors, request.path, self._proxy),
                        self._in_flight.request(),
                    ):
                        return await self._follow_redirects(request, headers)
            except TimeoutError as problem:
                raise TimedOut(
                    what=f"{self.name} does not respond in time",
                    why=f"{request.path}: no complete response within {seconds:.3g} s",
                    next="select fewer Applications, or allow more time with --timeout",
                    path=request.path,
                ) from problem

    async def _follow_redirects(self, request: _Request, headers: Headers) -> Response:
        """Redirects are only followed on the same host: credentials must not be sent to another one."""
        url = self._address(request.path)
        for _ in range(self.limits.redirects + 1):
            response = await self._send(url, request, headers)
            try:
                target = response.headers.get("location", "")
                if response.status_code not in _REDIRECTS or not target:
                    return await self._read_response(response, request.path)
            finally:
                await response.aclose()
            url = self._redirect_target(url, target, request.path)
            request = request.without_params()
        raise RedirectedElsewhere(
            what=f"{self.name} redirects in a loop",
            why=f"{request.path}: more than {self.limits.redirects} redirects",
            next="check the address, the root path, and whether it should be https://",
            path=request.path,
        )

    def _redirect_target(self, url: str, target: str, path: str) -> str:
        try:
            new_url = urljoin(url, target)
            old, new = urlsplit(url), urlsplit(new_url)
            ports = old.port, new.port
        except ValueError as problem:
            raise Unreachable(
                what=f"{self.name} redirects to an address that is not valid",
                why=f"{path}: the location header is not a valid address",
                next="check the address, the root path, and the proxies in front of it",
                path=path,
            ) from problem
        is_same_host = new.hostname == old.hostname and (
            (new.scheme == old.scheme and ports[0] == ports[1])
            or (old.scheme, new.scheme) == ("http", "https")
        )
        if is_same_host:
            return new_url
        raise RedirectedElsewhere(
            what=f"{self.name} redirects to another host",
            why=f"{path}: credentials are not sent to {new.scheme}://{new.hostname or '?'}",
            next="give the address of the server itself; a login page in front of it must let tokens through",
            path=path,
        )

    async def _send(
        self, url: str, request: _Request, headers: Headers, *, silence: float | None = None
    ) -> httpx2.Response:
        if self._http is None:
            raise Unreachable(what=f"the connection to {self.name} is closed", path=request.path)
        extensions = {"sni_hostname": self._tls.server_name} if self._tls.server_name else {}
        reads = {} if silence is None else {"read": silence}
        built = self._http.build_request(
            "POST" if request.body is not None else "GET",
            url,
            params=request.params or None,
            headers=_flat({**request.headers(), **headers}),
            content=request.body,
            extensions={**extensions, "timeout": {**self._http.timeout.as_dict(), **reads}},
        )
        self.count.requests += 1
        response = await self._http.send(built, stream=True)
        log.debug("%s %s: HTTP %d", built.method, request.path, response.status_code)
        return response

    async def _read_response(self, response: httpx2.Response, path: str) -> Response:
        date = http_date(response.headers.get("date", ""))
        if date is not None:
            self._server_date = max(date, self._server_date or date)
        body = Body(response.headers.get("content-encoding", ""), path, max_bytes=self.limits.answer_bytes)
        async for chunk in response.aiter_raw():
            self.count.bytes += body.add(chunk)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Response(path=path, status=response.status_code, headers=headers, body=body.complete())

    def _address(self, path: str) -> str:
        return self.url + path


class _Request:
    __slots__ = ("accept", "body", "params", "path")

    def __init__(self, path: str, params: Params | None, accept: str, body: bytes | None = None) -> None:
        self.path, self.params, self.accept, self.body = path, params, accept, body

    def headers(self) -> dict[str, str]:
        headers = {"Accept": self.accept}
        if self.body is not None:
            headers["Content-Type"] = JSON
        return headers

    def without_params(self) -> _Request:
        return _Request(self.path, None, self.accept, self.body)


def _flat(headers: Headers) -> list[tuple[str, str]]:
    return [
        (name, item)
        for name, value in headers.items()
        for item in ((value,) if isinstance(value, str) else value)
    ]


class Body:
    """The body of a response, decompressed up to a size limit.

    `encoding` is the Content-Encoding; `max_bytes` counts bytes after decompression.
    """

    def __init__(self, encoding: str, path: str, *, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._chunks: list[bytes] = []
        self._size = 0
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise self._malformed(f"its encoding {encoding[:80]!r} was not requested; only gzip was")
        self._decompressor = zlib.decompressobj(_GZIP) if "gzip" in encoding else None

    def add(self, chunk: bytes) -> int:
        """Returns the number of bytes added. Raises `TooLarge` or `MalformedResponse`."""
        if self._decompressor is not None:
            try:
                chunk = self._decompressor.decompress(chunk, self._max_bytes - self._size + 1)
            except zlib.error as problem:
                raise self._malformed(str(problem)) from problem
        self._size += len(chunk)
        if self._size > self._max_bytes:
            raise TooLarge(
                what=f"the response to {self._path} is too large",
                why=f"more than {self._max_bytes / (1 << 20):.3g} MiB",
                next="select fewer Applications",
                path=self._path,
            )
        self._chunks.append(chunk)
        return len(chunk)

    def complete(self) -> bytes:
        if self._decompressor is not None and self._chunks and not self._decompressor.eof:
            raise self._malformed("it is truncated")
        return b"".join(self._chunks)

    def _malformed(self, why: str) -> MalformedResponse:
        problem = f"the response to {self._path} cannot be decompressed"
        return MalformedResponse(what=problem, why=why, next="try again", path=self._path)


class InFlight:
    """Requests in flight: closing the client waits for them for a moment.

    A cancelled TLS handshake keeps its socket open until garbage collection.
    """

    def __init__(self) -> None:
        self._ends: set[asyncio.Future[None]] = set()

    @contextmanager
    def request(self) -> Generator[None]:
        end = asyncio.get_running_loop().create_future()
        self._ends.add(end)
        try:
            yield
        finally:
            self._ends.discard(end)
            if not end.done():
                end.set_result(None)

    async def settled(self, seconds: float = _SETTLE_SECONDS) -> None:
        if self._ends:
            await asyncio.wait(self._ends, timeout=seconds)
