"""The HTTP client for Argo CD and Kubernetes: retries, rate limits and deadlines.

    async with Client("https://argocd.example.com", auth=bearer(token)) as client:
        found = await client.object("/api/v1/applications", {"selector": "team=shop"})

Anything but a response raises an `HttpError`. Cancelling the task (Ctrl-C) closes the connections.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import urljoin, urlsplit

import msgspec

from whysync.facts.http.address import parsed, without_password
from whysync.facts.http.auth import Auth, Fixed, Headers
from whysync.facts.http.errors import HttpError, RedirectedElsewhere, TimedOut, Unreachable
from whysync.facts.http.hide_credentials import hidden
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.proxies import Proxy, proxy_for
from whysync.facts.http.rate_limit import RateLimit, http_date
from whysync.facts.http.response import Answer
from whysync.facts.http.retry import RetryPolicy, out_of_time
from whysync.facts.http.status_errors import problem_of
from whysync.facts.http.tls import Tls, context_of
from whysync.json_tree import Json, Object

if TYPE_CHECKING:
    import httpx2
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from whysync.facts.http.errors import MalformedResponse, TooLarge

_MOMENT: Final = 1.0
"""Seconds. A handshake takes milliseconds; longer requests are cancelled."""

_GZIP = zlib.MAX_WBITS | 16

T = TypeVar("T")
Value = str | int | Sequence[str]
Params = Mapping[str, Value]
JSON = "application/json"

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
log = logging.getLogger(__name__)
# Their debug logs print headers, cookies and URLs; our own log line of each request replaces them.
_TALKATIVE = ("httpx2", "httpcore2")


class Count(msgspec.Struct):
    """Requests and bytes so far."""

    requests: int = 0
    retries: int = 0
    bytes: int = 0


class Client:
    """`name` is how messages call the server, `setting` is where its address was configured."""

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
    ) -> None:
        self.url = without_password(url).rstrip("/")
        self._setting = setting
        self.name = name or self.url
        self.limits = limits or HttpLimits()
        self.count = Count()
        self._auth: Auth = auth or Fixed()
        self._tls = tls or Tls()
        self._proxy_url = proxy
        self._proxy: Proxy | None = None
        self._where = self.name
        self._http: httpx2.AsyncClient | None = None
        self._on_the_way = InFlight()
        self._slots = asyncio.Semaphore(self.limits.connections)
        self._pace = RateLimit(self.limits)
        self._renewing = asyncio.Lock()
        self._renewals = 0
        self._server_date: datetime | None = None

    async def __aenter__(self) -> Self:
        import httpx2

        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)
        limits = self.limits
        host = parsed(self.url, setting=self._setting).hostname or ""
        self._where = self.name if host in self.name.lower() else f"{self.name} at {self.url}"
        self._proxy = proxy_for(self.url, self._proxy_url)
        try:
            self._http = httpx2.AsyncClient(
                verify=context_of(self._tls),
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
            shown = f"{self._proxy.shown} (from {self._proxy.setting})" if self._proxy else self.url
            raise Unreachable(
                what=f"{self.name} cannot be asked through {shown}",
                why=without_password(str(problem)),
                next="use an http:// or https:// proxy, or exclude the server with NO_PROXY",
            ) from problem
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._on_the_way.settled()
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    # Requests

    async def json(self, path: str, params: Params | None = None, *, accept: str = JSON) -> Json:
        return await self._asked(_Question(path, params, accept), Answer.json)

    async def object(self, path: str, params: Params | None = None, *, accept: str = JSON) -> Object:
        return await self._asked(_Question(path, params, accept), Answer.object)

    async def get(self, path: str, params: Params | None = None, *, accept: str = "*/*") -> Answer:
        return await self._asked(_Question(path, params, accept), lambda answer: answer)

    async def post(self, path: str, body: Object) -> Object:
        """For read requests that use POST (a review, a login): they store nothing."""
        return await self._asked(_Question(path, None, JSON, msgspec.json.encode(body)), Answer.object)

    # The server's clock

    def now(self) -> datetime | None:
        """The latest `Date` header of the server, whose clock wrote the timestamps of objects.

        The same responses give the same time, however long reading took.
        """
        return self._server_date

    # One request with its retries

    async def _asked(self, question: _Question, read: Callable[[Answer], T]) -> T:
        """The deadline includes everything: the queue, the login, each attempt and the pauses."""
        left = self.limits.deadline.left()
        try:
            async with asyncio.timeout(left if math.isfinite(left) else None):
                return await self._tried(question, read)
        except TimeoutError:
            problem = out_of_time(self.limits.deadline, self.name, question.path)
        except HttpError as error:
            problem = error
        # A server may repeat what we sent.
        raise problem.rewritten(lambda words: hidden(words, self._auth.secrets())) from problem.__cause__

    async def _tried(self, question: _Question, read: Callable[[Answer], T]) -> T:
        patience = RetryPolicy(self.limits, self.name, question.path)
        renewed = False
        while True:
            renewals = self._renewals
            answer: Answer | None = None
            try:
                answer = await self._once(question, patience)
                if answer.status < 300:
                    return read(answer)
                if answer.status == 401 and not renewed:
                    renewed = True
                    if await self._renew(renewals):
                        continue
                problem: HttpError = problem_of(answer, self.name)
            except HttpError as error:
                problem = error
            await asyncio.sleep(patience.pause(problem, answer))
            self.count.retries += 1

    async def _renew(self, seen: int) -> bool:
        """If many requests get a 401 at once, one renews the credentials; the others are sent again."""
        async with self._renewing:
            if self._renewals != seen:
                return True
            if not await self._auth.renew():
                return False
            self._renewals += 1
            return True

    async def _once(self, question: _Question, patience: RetryPolicy) -> Answer:
        from whysync.facts.http.translate_errors import translated

        async with self._slots:
            await self._pace.turn()
            seconds = patience.left()
            headers = await self._auth.headers()
            try:
                async with asyncio.timeout(seconds):
                    with translated(self._where, question.path, self._proxy), self._on_the_way.request():
                        return await self._followed(question, headers)
            except TimeoutError as problem:
                raise TimedOut(
                    what=f"{self.name} does not answer in time",
                    why=f"{question.path}: no whole answer within {seconds:.3g} s",
                    next="narrow down what is asked for, or give it more time with --timeout",
                    path=question.path,
                ) from problem

    async def _followed(self, question: _Question, headers: Headers) -> Answer:
        """Redirects are only followed on the same host: credentials must not be sent to another one."""
        url = self._address(question.path)
        for _ in range(self.limits.redirects + 1):
            response = await self._sent(url, question, headers)
            try:
                target = response.headers.get("location", "")
                if response.status_code not in _REDIRECTS or not target:
                    return await self._read(response, question.path)
            finally:
                await response.aclose()
            url = self._led(url, target, question.path)
            question = question.without_params()
        raise RedirectedElsewhere(
            what=f"{self.name} leads round in circles",
            why=f"{question.path}: more than {self.limits.redirects} redirects",
            next="check the address, the root path, and whether it is to be https://",
            path=question.path,
        )

    def _led(self, url: str, target: str, path: str) -> str:
        try:
            new = urljoin(url, target)
            before, after = urlsplit(url), urlsplit(new)
            ports = before.port, after.port
        except ValueError:
            new, before, after, ports = "", urlsplit(url), urlsplit(""), (0, 0)
        same = after.hostname == before.hostname and (
            (after.scheme == before.scheme and ports[0] == ports[1])
            or (before.scheme, after.scheme) == ("http", "https")
        )
        if same:
            return new
        raise RedirectedElsewhere(
            what=f"{self.name} leads elsewhere",
            why=f"{path}: a redirect to {after.scheme}://{after.hostname or '?'}, and credentials stay here",
            next="give the address of the server itself; a login page in front of it must let tokens through",
            path=path,
        )

    async def _sent(self, url: str, question: _Question, headers: Headers) -> httpx2.Response:
        if self._http is None:
            raise Unreachable(what=f"the connection to {self.name} is closed", path=question.path)
        extensions = {"sni_hostname": self._tls.server_name} if self._tls.server_name else {}
        request = self._http.build_request(
            "POST" if question.body is not None else "GET",
            url,
            params=question.params or None,
            headers=_flat({**question.headers(), **headers}),
            content=question.body,
            extensions={**extensions, "timeout": self._http.timeout.as_dict()},
        )
        self.count.requests += 1
        response = await self._http.send(request, stream=True)
        log.debug("%s %s: HTTP %d", request.method, question.path, response.status_code)
        return response

    async def _read(self, response: httpx2.Response, path: str) -> Answer:
        date = http_date(response.headers.get("date", ""))
        if date is not None:
            self._server_date = max(date, self._server_date or date)
        body = Body(response.headers.get("content-encoding", ""), path, most=self.limits.answer_bytes)
        async for piece in response.aiter_raw():
            self.count.bytes += body.add(piece)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(path=path, status=response.status_code, headers=headers, body=body.whole())

    def _address(self, path: str) -> str:
        return self.url + path


class _Question:
    __slots__ = ("accept", "body", "params", "path")

    def __init__(self, path: str, params: Params | None, accept: str, body: bytes | None = None) -> None:
        self.path, self.params, self.accept, self.body = path, params, accept, body

    def headers(self) -> dict[str, str]:
        sent = {"Accept": self.accept}
        if self.body is not None:
            sent["Content-Type"] = JSON
        return sent

    def without_params(self) -> _Question:
        return _Question(self.path, None, self.accept, self.body)


def _flat(headers: Headers) -> list[tuple[str, str]]:
    return [
        (name, item)
        for name, value in headers.items()
        for item in ((value,) if isinstance(value, str) else value)
    ]


class Body:
    """The body of a response, decompressed up to a size limit.

    `encoding` is the Content-Encoding; `most` counts bytes after decompression.
    """

    def __init__(self, encoding: str, path: str, *, most: int) -> None:
        self._path = path
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise self._garbled(f"its encoding {encoding[:80]!r} was not asked for; only gzip was")
        self._unpacking = zlib.decompressobj(_GZIP) if "gzip" in encoding else None

    def add(self, piece: bytes) -> int:
        """Returns the number of bytes added. Raises `TooLarge`, `Garbled`."""
        if self._unpacking is not None:
            try:
                piece = self._unpacking.decompress(piece, self._most - self._size + 1)
            except zlib.error as problem:
                raise self._garbled(str(problem)) from problem
        self._size += len(piece)
        if self._size > self._most:
            raise TooLarge(
                what=f"the answer to {self._path} is too large",
                why=f"more than {self._most / (1 << 20):.3g} MiB",
                next="ask for fewer Applications",
                path=self._path,
            )
        self._pieces.append(piece)
        return len(piece)

    def whole(self) -> bytes:
        if self._unpacking is not None and self._pieces and not self._unpacking.eof:
            raise self._garbled("it ends in the middle")
        return b"".join(self._pieces)

    def _garbled(self, why: str) -> MalformedResponse:
        what = f"the answer to {self._path} cannot be unpacked"
        return MalformedResponse(what=what, why=why, next="ask again", path=self._path)


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

    async def settled(self, seconds: float = _MOMENT) -> None:
        if self._ends:
            await asyncio.wait(self._ends, timeout=seconds)
