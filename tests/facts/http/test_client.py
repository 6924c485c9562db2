"""Every fault that a server can show, and what becomes of it: nothing hangs, each has its words."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace

from tests.facts.http.certificates import Certificates
from tests.facts.http.faulty import (
    FakeRequest,
    FakeResponse,
    FaultyServer,
    RequestHandler,
    faulty_server,
    gzipped,
    json_response,
)
from whysync.deadline import Deadline
from whysync.facts.http import errors
from whysync.facts.http.address import without_password
from whysync.facts.http.auth import StaticHeaders, TokenFile, WithHeaders, basic, bearer
from whysync.facts.http.client import Client
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.tls import Tls
from whysync.json_tree import Json

T = TypeVar("T")
QUICK = HttpLimits(
    connect_seconds=0.3,
    idle_seconds=0.15,
    try_seconds=0.4,
    call_seconds=3,
    first_pause_seconds=0.001,
    longest_pause_seconds=0.002,
    answer_bytes=50_000,
)


def conversation(
    answering: RequestHandler,
    ask: Callable[[Client], Awaitable[T]],
    *,
    limits: HttpLimits = QUICK,
    auth: StaticHeaders | TokenFile | WithHeaders | None = None,
    within: float = 5,
) -> tuple[T, FaultyServer]:
    async def talk() -> tuple[T, FaultyServer]:
        async with faulty_server(answering) as server, Client(server.url, auth=auth, limits=limits) as client:
            async with asyncio.timeout(within):
                return await ask(client), server

    return asyncio.run(talk())


def list_pods(client: Client) -> Awaitable[Json]:
    return client.json("/api/v1/pods")


def once(fault: FakeResponse) -> RequestHandler:
    return lambda request: fault if request.number == 1 else json_response({"items": []})


def always(fault: FakeResponse) -> RequestHandler:
    return lambda _: fault


PASSING = {
    "reset": FakeResponse(how="reset"),
    "hang": FakeResponse(how="hang"),
    "silence in the body": FakeResponse(body=b"x" * 100, how="silent-body"),
    "dripping body": FakeResponse(body=b"x" * 1000, how="drip"),
    "dripping head": FakeResponse(how="drip-head"),
    "cut off": FakeResponse(body=b'{"items": [1, 2, 3]}', how="cut"),
    "noise": FakeResponse(how="noise"),
    "truncated JSON that claims to be whole": FakeResponse(body=b'{"items": ['),
    "a page": FakeResponse(body=b"<html>please wait</html>", headers={"Content-Type": "text/html"}),
    "nothing": FakeResponse(body=b""),
    "429": json_response({"message": "slow down"}, 429, Retry_After="0"),
    "500": json_response({"message": "etcdserver: request timed out"}, 500),
    "502": FakeResponse(502, b"bad gateway"),
    "503": FakeResponse(503, b"starting"),
    "504": FakeResponse(504, b"gateway timeout"),
    "broken gzip": FakeResponse(body=b"\x1f\x8bnonsense", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_temporary_fault_is_retried(fault: FakeResponse) -> None:
    # On a busy machine a good response may be late, which counts as silence.
    response, server = conversation(
        once(fault), list_pods, limits=replace(QUICK, connect_seconds=5, tries_after_silence=5), within=20
    )
    assert response == {"items": []}
    assert len(server.requests) >= 2


STAYING: dict[str, tuple[FakeResponse, type[errors.HttpError], str]] = {
    "reset": (FakeResponse(how="reset"), errors.Unreachable, "was interrupted"),
    "hang": (FakeResponse(how="hang"), errors.TimedOut, "does not respond"),
    "dripping body": (
        FakeResponse(body=b"x" * 1000, how="drip"),
        errors.TimedOut,
        "no complete response within 0.4 s",
    ),
    "dripping head": (FakeResponse(how="drip-head"), errors.TimedOut, "does not respond in time"),
    "silence in the body": (FakeResponse(body=b"x" * 100, how="silent-body"), errors.TimedOut, "no data"),
    "cut off": (FakeResponse(body=b'{"items": [1, 2, 3]}', how="cut"), errors.Unreachable, "was interrupted"),
    "noise": (FakeResponse(how="noise"), errors.Unreachable, "was interrupted"),
    "wrong JSON": (FakeResponse(body=b'{"items": ['), errors.MalformedResponse, "is not JSON"),
    "deep JSON": (FakeResponse(body=b"[" * 20_000), errors.MalformedResponse, "is not JSON"),
    "empty": (FakeResponse(body=b""), errors.MalformedResponse, "it is empty"),
    "a login page": (
        FakeResponse(body=b"<!doctype html><p>log in", headers={"Content-Type": "text/html"}),
        errors.MalformedResponse,
        "is a web page",
    ),
    "a rejection by a proxy": (
        FakeResponse(403, b"<!doctype html><p>blocked", {"Content-Type": "text/html"}),
        errors.Intercepted,
        "HTTP 403, from something in front of the server",
    ),
    "a page of another server": (
        FakeResponse(404, b"<html>nothing here", {}),
        errors.Intercepted,
        "a web page came instead of the response",
    ),
    "a proxy without a server": (
        FakeResponse(502, b"<html>bad gateway", {"Content-Type": "text/html"}),
        errors.ServerFailed,
        "HTTP 502 with a web page, from something in front of the server",
    ),
    "a proxy that asks for a password": (
        FakeResponse(401, b"<html>who are you?", {"Content-Type": "text/html"}),
        errors.NotAuthenticated,
        "HTTP 401 with a web page, from something in front of the server",
    ),
    "400": (json_response({"message": "bad selector"}, 400), errors.Rejected, "bad selector"),
    "401": (json_response({"message": "Unauthorized"}, 401), errors.NotAuthenticated, "rejects these"),
    "403": (json_response({"message": "pods is forbidden"}, 403), errors.Forbidden, "pods is forbidden"),
    "404": (FakeResponse(404, b"404 page not found"), errors.Missing, "page not found"),
    "410": (json_response({"message": "the continue token is too old"}, 410), errors.Expired, "too old"),
    "429": (json_response({"message": "slow down"}, 429), errors.Overloaded, "slow down"),
    "429 for an hour": (
        json_response({}, 429, Retry_After="3600"),
        errors.Overloaded,
        "Retry-After of 3.6e+03 s",
    ),
    "500": (json_response({"error": "rpc error", "code": 2}, 500), errors.ServerFailed, "rpc error"),
    "503": (FakeResponse(503, b"no endpoints"), errors.Overloaded, "no endpoints"),
    "broken gzip": (
        FakeResponse(body=b"\x1f\x8bnonsense", headers={"Content-Encoding": "gzip"}),
        errors.MalformedResponse,
        "cannot be decompressed",
    ),
    "huge": (FakeResponse(body=b'"' + b"x" * 60_000 + b'"'), errors.TooLarge, "too large"),
    "a bomb": (gzipped(FakeResponse(body=b'"' + b"x" * 5_000_000 + b'"')), errors.TooLarge, "too large"),
    "a bomb in a bomb": (
        FakeResponse(
            body=gzip.compress(gzip.compress(bytes(50_000_000))), headers={"Content-Encoding": "gzip, gzip"}
        ),
        errors.MalformedResponse,
        "cannot be decompressed",
    ),
    "another encoding": (
        FakeResponse(body=b"x", headers={"Content-Encoding": "br"}),
        errors.MalformedResponse,
        "'br' was not requested",
    ),
    "half of a gzip": (
        FakeResponse(body=gzip.compress(b'{"items": []}' * 99)[:-20], headers={"Content-Encoding": "gzip"}),
        errors.MalformedResponse,
        "is truncated",
    ),
    "an endless body": (FakeResponse(body=b"x" * 999, how="endless"), errors.TooLarge, "too large"),
    "endless heads": (FakeResponse(how="informational"), errors.TimedOut, "does not respond in time"),
    "a circle": (
        FakeResponse(302, b"", {"Location": "/again"}),
        errors.RedirectedElsewhere,
        "redirects in a loop",
    ),
    "nowhere": (FakeResponse(302, b"", {"Location": "https://[::1"}), errors.Unreachable, "location header"),
    "elsewhere": (
        FakeResponse(302, b"", {"Location": "https://login.example.com/oauth?state=1"}),
        errors.RedirectedElsewhere,
        "https://login.example.com",
    ),
}


@pytest.mark.parametrize(("fault", "kind", "expected"), STAYING.values(), ids=STAYING.keys())
def test_a_permanent_fault_is_reported(
    fault: FakeResponse, kind: type[errors.HttpError], expected: str
) -> None:
    with pytest.raises(errors.HttpError) as caught:
        conversation(always(fault), list_pods)
    problem = caught.value
    assert type(problem) is kind
    assert expected in f"{problem.what} {problem.why}"


@pytest.mark.parametrize(
    ("body", "next"),
    [(b"404 page not found", "check the server's address and root path"), (b'{"message": "no pods"}', "")],
)
def test_a_404_that_is_not_of_the_api(body: bytes, next: str) -> None:
    with pytest.raises(errors.Missing) as caught:
        conversation(always(FakeResponse(404, body)), list_pods)
    assert caught.value.next == next


def test_an_internal_error_is_not_retried_if_it_is_the_answer() -> None:
    limits = replace(QUICK, retries_internal_errors=False)
    served: list[FakeRequest] = []

    def answering(request: FakeRequest) -> FakeResponse:
        served.append(request)
        return json_response({"error": "failed to load target state"}, 500)

    with pytest.raises(errors.ServerFailed):
        conversation(answering, list_pods, limits=limits)
    assert len(served) == 1


def test_no_request_waits_past_the_deadline() -> None:
    limits = replace(QUICK, deadline=Deadline.after(0.3), idle_seconds=10, try_seconds=10)

    async def many(client: Client) -> list[object]:
        request = (client.json(f"/{n}") for n in range(30))
        return list(await asyncio.gather(*request, return_exceptions=True))

    results, _ = conversation(always(FakeResponse(how="hang")), many, limits=limits, within=4)
    assert all(isinstance(item, errors.TimedOut) for item in results)


def test_a_token_that_expires_in_the_middle_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    def answering(request: FakeRequest) -> FakeResponse:
        if request.headers["authorization"] == "Bearer new":
            return json_response({"ok": True})
        file.write_text("new")
        return json_response({"message": "Unauthorized"}, 401)

    response, server = conversation(answering, list_pods, auth=TokenFile(file))
    assert response == {"ok": True}
    assert len(server.requests) == 2


def test_many_that_meet_a_401_renew_once() -> None:
    class Login(StaticHeaders):
        renewals = 0

        async def headers(self) -> dict[str, str]:
            return {"Authorization": f"Bearer {self.renewals}"}

        async def renew(self) -> bool:
            await asyncio.sleep(0)
            self.renewals += 1
            return True

    login = Login()

    def answering(request: FakeRequest) -> FakeResponse:
        return json_response({}) if request.headers["authorization"] == "Bearer 1" else json_response({}, 401)

    async def many(client: Client) -> object:
        return await asyncio.gather(*(client.json("/x") for _ in range(6)))

    conversation(answering, many, auth=login)
    assert login.renewals == 1


def test_credentials_do_not_follow_a_redirect_to_another_host() -> None:
    async def two() -> list[FakeRequest]:
        async with faulty_server(always(json_response({}))) as other:
            led = always(FakeResponse(307, b"", {"Location": f"http://localhost:{other.port}/x"}))
            async with (
                faulty_server(led) as server,
                Client(server.url, auth=bearer("t"), limits=QUICK) as client,
            ):
                with pytest.raises(errors.RedirectedElsewhere):
                    await client.json("/x")
            return other.requests

    assert asyncio.run(two()) == []


def test_a_redirect_on_the_same_host_is_followed() -> None:
    def answering(request: FakeRequest) -> FakeResponse:
        return (
            json_response({"at": request.target})
            if request.target == "/b?x=1"
            else FakeResponse(301, b"", {"Location": "/b?x=1"})
        )

    response, _ = conversation(answering, lambda client: client.json("/a", {"q": "z"}))
    assert response == {"at": "/b?x=1"}


def test_the_server_s_clock_counts() -> None:
    """The latest time that it reported, however many seconds ago that was here."""
    seconds = iter((7, 9, 8))

    async def ask(client: Client) -> list[datetime | None]:
        before = client.now()
        for path in "abc":
            await client.json(f"/{path}")
        return [before, client.now()]

    now, _ = conversation(
        lambda _: json_response({}, Date=f"Mon, 02 Mar 2026 03:27:0{next(seconds)} GMT"), ask
    )
    assert now == [None, datetime(2026, 3, 2, 3, 27, 9, tzinfo=UTC)]


def test_requests_are_counted_and_never_too_many_at_once() -> None:
    limits = replace(QUICK, connections=2)

    async def ask(client: Client) -> tuple[int, int]:
        await asyncio.gather(*(client.json(f"/{n}") for n in range(10)))
        return client.count.requests, client.count.retries

    counts, _ = conversation(always(json_response({})), ask, limits=limits)
    assert counts == (10, 0)


def test_it_can_be_interrupted_at_any_time() -> None:
    async def talk() -> None:
        async with faulty_server(always(FakeResponse(how="hang"))) as server:
            limits = HttpLimits()
            async with Client(server.url, limits=limits) as client:
                going = asyncio.create_task(client.json("/"))
                while not server.requests:
                    await asyncio.sleep(0)
                going.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await going

    asyncio.run(asyncio.wait_for(talk(), 5))


def test_nobody_listens() -> None:
    async def talk() -> None:
        async with faulty_server(always(json_response({}))) as server:
            port = server.port
        async with Client(f"http://127.0.0.1:{port}", limits=QUICK) as client:
            await client.json("/")

    with pytest.raises(errors.Unreachable, match="cannot be reached") as caught:
        asyncio.run(talk())
    assert "127.0.0.1 port " in caught.value.why
    assert caught.value.why.endswith(": connection refused")


def test_each_address_of_a_host_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    async def both(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [
            (family, socket.SOCK_STREAM, 6, "", (host, 9))
            for family, host in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1"))
        ]

    monkeypatch.setattr("anyio._core._sockets.getaddrinfo", both)

    async def talk() -> None:
        async with Client("http://api.inside.example:9", limits=replace(QUICK, tries=1)) as client:
            await client.json("/")

    with pytest.raises(errors.Unreachable) as caught:
        asyncio.run(talk())
    reasons = caught.value.why.split("; ")
    assert {reason.partition(" port ")[0] for reason in reasons} == {"::1", "127.0.0.1"}
    assert any("connection refused" in reason for reason in reasons)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x", "nonsense", "http://", "https://[::1", "http://a b/", "http://127.0.0.1:99999", "http://x:0",
        "http://x:port", "http://[zz]:1", f"http://{'x' * 70}.example.com", "http://me:hunter2@x:99999",
    ],
)  # fmt: skip
def test_an_address_that_is_none(url: str) -> None:
    async def talk() -> None:
        async with Client(url, limits=QUICK, setting="--server") as client:
            await client.json("/")

    with pytest.raises(errors.BadAddress) as caught:
        asyncio.run(talk())
    assert "--server" in caught.value.what
    assert "hunter2" not in f"{caught.value.what} {caught.value.why}"


def test_a_server_that_repeats_our_token() -> None:
    def echo(request: FakeRequest) -> FakeResponse:
        return json_response({"message": f"no such user: {request.headers['authorization']}"}, 400)

    for auth in (
        bearer("plain-words"),
        basic("me", "plain-words"),
        StaticHeaders({"Authorization": "x"}, secrets=("x",)),
    ):
        with pytest.raises(errors.Rejected) as caught:
            conversation(echo, list_pods, auth=auth)
        assert "plain-words" not in f"{caught.value.why} {caught.value.server_message} {caught.value}"
        assert "cGxhaW4" not in caught.value.why


def test_secrets_in_a_server_s_words_are_masked() -> None:
    result = json_response({"message": "cannot reach https://bot:hunter2pass@git.example.com/x"}, 400)
    with pytest.raises(errors.Rejected) as caught:
        conversation(always(result), list_pods)
    assert "hunter2pass" not in caught.value.why + caught.value.server_message
    assert "git.example.com" in caught.value.why


def test_kinds_of_credentials(tmp_path: Path) -> None:
    def echo(request: FakeRequest) -> FakeResponse:
        return json_response(
            {"auth": request.headers.get("authorization"), "as": request.headers.get("impersonate-user")}
        )

    ask = list_pods
    assert conversation(echo, ask, auth=bearer("t"))[0] == {"auth": "Bearer t", "as": None}
    assert conversation(echo, ask, auth=basic("me", "pw"))[0] == {"auth": "Basic bWU6cHc=", "as": None}
    both = WithHeaders(bearer("t"), {"Impersonate-User": "jane"})
    assert conversation(echo, ask, auth=both)[0] == {"auth": "Bearer t", "as": "jane"}
    with pytest.raises(Exception, match="cannot be read"):
        conversation(echo, ask, auth=TokenFile(tmp_path / "none"))
    assert without_password("https://me:secret@host:1/x") == "https://host:1/x"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def over_tls(certificates: Certificates, tls: Tls, *, asks_clients: bool = False) -> Json:
    async def talk() -> Json:
        context = certificates.serving(asks_clients=asks_clients)
        async with faulty_server(always(json_response({"ok": True})), tls=context) as server:
            url = f"https://127.0.0.1:{server.port}"
            async with Client(url, tls=tls, limits=QUICK) as client:
                return await client.json("/")

    return asyncio.run(talk())


def test_certificates_that_are_trusted_and_not(certificates: Certificates) -> None:
    known = Tls(ca_pem=certificates.text("ca.crt"))
    assert over_tls(certificates, known) == {"ok": True}
    assert over_tls(certificates, Tls(ca_file=str(certificates.path("ca.crt")))) == {"ok": True}
    assert over_tls(certificates, Tls(insecure=True)) == {"ok": True}
    tls = Tls(ca_pem=certificates.text("ca.crt"), server_name="api.inside")
    assert over_tls(certificates, tls) == {"ok": True}
    with pytest.raises(errors.NotTrusted, match="is not trusted"):
        over_tls(certificates, Tls())
    with pytest.raises(errors.NotTrusted, match="is not trusted"):
        over_tls(certificates, Tls(ca_pem=certificates.text("ca.crt"), server_name="other.inside"))
    for bad in (Tls(ca_pem="nonsense"), Tls(ca_file="/nowhere"), Tls(certificate_pem="x", key_pem="y")):
        with pytest.raises(Exception, match="cannot be used"):
            over_tls(certificates, bad)


def test_our_own_certificate(certificates: Certificates) -> None:
    shown = Tls(
        ca_pem=certificates.text("ca.crt"),
        certificate_pem=certificates.text("client.crt"),
        key_pem=certificates.text("client.key"),
    )
    assert over_tls(certificates, shown, asks_clients=True) == {"ok": True}
    filed = Tls(
        ca_file=str(certificates.path("ca.crt")),
        certificate_file=str(certificates.path("client.crt")),
        key_file=str(certificates.path("client.key")),
    )
    assert over_tls(certificates, filed, asks_clients=True) == {"ok": True}
    with pytest.raises(errors.HttpError):
        over_tls(certificates, Tls(ca_pem=certificates.text("ca.crt")), asks_clients=True)


def test_tls_where_there_is_none() -> None:
    async def talk() -> None:
        async with (
            faulty_server(always(json_response({}))) as server,
            Client(f"https://127.0.0.1:{server.port}", limits=QUICK) as client,
        ):
            await client.json("/")

    with pytest.raises(errors.HttpError):
        asyncio.run(talk())


def test_a_proxy_gets_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(**how: str) -> list[FakeRequest]:
        async with faulty_server(always(json_response({}))) as proxy:
            for name in ("HTTP_PROXY", "http_proxy"):
                monkeypatch.setenv(name, how.get("environment", "").replace("PORT", str(proxy.port)))
            proxy_url = how.get("proxy", "").replace("PORT", str(proxy.port))
            async with Client("http://api.inside.example:1", proxy=proxy_url, limits=QUICK) as client:
                await client.json("/x")
        return proxy.requests

    for how in ({"proxy": "http://me:pw@127.0.0.1:PORT"}, {"environment": "http://127.0.0.1:PORT"}):
        (request,) = asyncio.run(talk(**how))
        assert request.target == "http://api.inside.example:1/x"


def test_a_proxy_of_an_unknown_kind() -> None:
    async def talk() -> None:
        async with Client("https://127.0.0.1:1", proxy="gopher://x", limits=QUICK) as client:
            await client.json("/")

    with pytest.raises(errors.BadAddress, match=r"gopher://x.*proxy-url"):
        asyncio.run(talk())
