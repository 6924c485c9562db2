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
from tests.facts.http.faulty import Answering, Asked, Faulty, Says, faulty, packed, says
from whysync.deadline import Deadline
from whysync.facts.http import errors as problems
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
    answering: Answering,
    ask: Callable[[Client], Awaitable[T]],
    *,
    limits: HttpLimits = QUICK,
    auth: StaticHeaders | TokenFile | WithHeaders | None = None,
    within: float = 5,
) -> tuple[T, Faulty]:
    async def talk() -> tuple[T, Faulty]:
        async with faulty(answering) as server, Client(server.url, auth=auth, limits=limits) as client:
            async with asyncio.timeout(within):
                return await ask(client), server

    return asyncio.run(talk())


def list_pods(client: Client) -> Awaitable[Json]:
    return client.json("/api/v1/pods")


def once(fault: Says) -> Answering:
    return lambda asked: fault if asked.number == 1 else says({"items": []})


def always(fault: Says) -> Answering:
    return lambda _: fault


PASSING = {
    "reset": Says(how="reset"),
    "hang": Says(how="hang"),
    "silence in the body": Says(body=b"x" * 100, how="silent-body"),
    "dripping body": Says(body=b"x" * 1000, how="drip"),
    "dripping head": Says(how="drip-head"),
    "cut off": Says(body=b'{"items": [1, 2, 3]}', how="cut"),
    "noise": Says(how="noise"),
    "truncated JSON that claims to be whole": Says(body=b'{"items": ['),
    "a page": Says(body=b"<html>please wait</html>", headers={"Content-Type": "text/html"}),
    "nothing": Says(body=b""),
    "429": says({"message": "slow down"}, 429, Retry_After="0"),
    "500": says({"message": "etcdserver: request timed out"}, 500),
    "502": Says(502, b"bad gateway"),
    "503": Says(503, b"starting"),
    "504": Says(504, b"gateway timeout"),
    "broken gzip": Says(body=b"\x1f\x8bnonsense", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_what_passes_is_waited_for(fault: Says) -> None:
    # On a busy machine a good answer may seem silence too.
    found, server = conversation(
        once(fault), list_pods, limits=replace(QUICK, connect_seconds=5, tries_after_silence=5), within=20
    )
    assert found == {"items": []}
    assert len(server.asked) >= 2


STAYING: dict[str, tuple[Says, type[problems.HttpError], str]] = {
    "reset": (Says(how="reset"), problems.Unreachable, "was interrupted"),
    "hang": (Says(how="hang"), problems.TimedOut, "does not respond"),
    "dripping body": (
        Says(body=b"x" * 1000, how="drip"),
        problems.TimedOut,
        "no complete response within 0.4 s",
    ),
    "dripping head": (Says(how="drip-head"), problems.TimedOut, "does not respond in time"),
    "silence in the body": (Says(body=b"x" * 100, how="silent-body"), problems.TimedOut, "no data"),
    "cut off": (Says(body=b'{"items": [1, 2, 3]}', how="cut"), problems.Unreachable, "was interrupted"),
    "noise": (Says(how="noise"), problems.Unreachable, "was interrupted"),
    "wrong JSON": (Says(body=b'{"items": ['), problems.MalformedResponse, "is not JSON"),
    "deep JSON": (Says(body=b"[" * 20_000), problems.MalformedResponse, "is not JSON"),
    "empty": (Says(body=b""), problems.MalformedResponse, "it is empty"),
    "a login page": (
        Says(body=b"<!doctype html><p>log in", headers={"Content-Type": "text/html"}),
        problems.MalformedResponse,
        "is a web page",
    ),
    "400": (says({"message": "bad selector"}, 400), problems.Rejected, "bad selector"),
    "401": (says({"message": "Unauthorized"}, 401), problems.NotAuthenticated, "rejects these"),
    "403": (says({"message": "pods is forbidden"}, 403), problems.Forbidden, "pods is forbidden"),
    "404": (Says(404, b"404 page not found"), problems.Missing, "page not found"),
    "410": (says({"message": "the continue token is too old"}, 410), problems.Expired, "too old"),
    "429": (says({"message": "slow down"}, 429), problems.Overloaded, "slow down"),
    "429 for an hour": (says({}, 429, Retry_After="3600"), problems.Overloaded, "Retry-After of 3.6e+03 s"),
    "500": (says({"error": "rpc error", "code": 2}, 500), problems.ServerFailed, "rpc error"),
    "503": (Says(503, b"no endpoints"), problems.Overloaded, "no endpoints"),
    "broken gzip": (
        Says(body=b"\x1f\x8bnonsense", headers={"Content-Encoding": "gzip"}),
        problems.MalformedResponse,
        "cannot be decompressed",
    ),
    "huge": (Says(body=b'"' + b"x" * 60_000 + b'"'), problems.TooLarge, "too large"),
    "a bomb": (packed(Says(body=b'"' + b"x" * 5_000_000 + b'"')), problems.TooLarge, "too large"),
    "a bomb in a bomb": (
        Says(
            body=gzip.compress(gzip.compress(bytes(50_000_000))), headers={"Content-Encoding": "gzip, gzip"}
        ),
        problems.MalformedResponse,
        "cannot be decompressed",
    ),
    "another encoding": (
        Says(body=b"x", headers={"Content-Encoding": "br"}),
        problems.MalformedResponse,
        "'br' was not requested",
    ),
    "half of a gzip": (
        Says(body=gzip.compress(b'{"items": []}' * 99)[:-20], headers={"Content-Encoding": "gzip"}),
        problems.MalformedResponse,
        "is truncated",
    ),
    "an endless body": (Says(body=b"x" * 999, how="endless"), problems.TooLarge, "too large"),
    "endless heads": (Says(how="informational"), problems.TimedOut, "does not respond in time"),
    "a circle": (Says(302, b"", {"Location": "/again"}), problems.RedirectedElsewhere, "redirects in a loop"),
    "nowhere": (Says(302, b"", {"Location": "https://[::1"}), problems.Unreachable, "location header"),
    "elsewhere": (
        Says(302, b"", {"Location": "https://login.example.com/oauth?state=1"}),
        problems.RedirectedElsewhere,
        "https://login.example.com",
    ),
}


@pytest.mark.parametrize(("fault", "kind", "words"), STAYING.values(), ids=STAYING.keys())
def test_what_stays_is_said(fault: Says, kind: type[problems.HttpError], words: str) -> None:
    with pytest.raises(problems.HttpError) as caught:
        conversation(always(fault), list_pods)
    problem = caught.value
    assert type(problem) is kind
    assert words in f"{problem.what} {problem.why}"


def test_an_internal_error_is_not_asked_twice_where_it_is_the_answer() -> None:
    limits = replace(QUICK, retries_internal_errors=False)
    served: list[Asked] = []

    def answering(asked: Asked) -> Says:
        served.append(asked)
        return says({"error": "failed to load target state"}, 500)

    with pytest.raises(problems.ServerFailed):
        conversation(answering, list_pods, limits=limits)
    assert len(served) == 1


def test_nothing_waits_longer_than_all_of_it_may_take() -> None:
    limits = replace(QUICK, deadline=Deadline.after(0.3), idle_seconds=10, try_seconds=10)

    async def many(client: Client) -> list[object]:
        request = (client.json(f"/{n}") for n in range(30))
        return list(await asyncio.gather(*request, return_exceptions=True))

    found, _ = conversation(always(Says(how="hang")), many, limits=limits, within=4)
    assert all(isinstance(item, problems.TimedOut) for item in found)


def test_a_token_that_expires_in_the_middle_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    def answering(asked: Asked) -> Says:
        if asked.headers["authorization"] == "Bearer new":
            return says({"ok": True})
        file.write_text("new")
        return says({"message": "Unauthorized"}, 401)

    found, server = conversation(answering, list_pods, auth=TokenFile(file))
    assert found == {"ok": True}
    assert len(server.asked) == 2


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

    def answering(asked: Asked) -> Says:
        return says({}) if asked.headers["authorization"] == "Bearer 1" else says({}, 401)

    async def many(client: Client) -> object:
        return await asyncio.gather(*(client.json("/x") for _ in range(6)))

    conversation(answering, many, auth=login)
    assert login.renewals == 1


def test_credentials_do_not_follow_a_redirect_to_another_host() -> None:
    async def two() -> list[Asked]:
        async with faulty(always(says({}))) as other:
            led = always(Says(307, b"", {"Location": f"http://localhost:{other.port}/x"}))
            async with faulty(led) as server, Client(server.url, auth=bearer("t"), limits=QUICK) as client:
                with pytest.raises(problems.RedirectedElsewhere):
                    await client.json("/x")
            return other.asked

    assert asyncio.run(two()) == []


def test_a_redirect_on_the_same_host_is_followed() -> None:
    def answering(asked: Asked) -> Says:
        return (
            says({"at": asked.target}) if asked.target == "/b?x=1" else Says(301, b"", {"Location": "/b?x=1"})
        )

    found, _ = conversation(answering, lambda client: client.json("/a", {"q": "z"}))
    assert found == {"at": "/b?x=1"}


def test_the_server_s_clock_counts() -> None:
    """The latest time that it reported, however many seconds ago that was here."""
    seconds = iter((7, 9, 8))

    async def ask(client: Client) -> list[datetime | None]:
        before = client.now()
        for path in "abc":
            await client.json(f"/{path}")
        return [before, client.now()]

    now, _ = conversation(lambda _: says({}, Date=f"Mon, 02 Mar 2026 03:27:0{next(seconds)} GMT"), ask)
    assert now == [None, datetime(2026, 3, 2, 3, 27, 9, tzinfo=UTC)]


def test_requests_are_counted_and_never_too_many_at_once() -> None:
    limits = replace(QUICK, connections=2)

    async def ask(client: Client) -> tuple[int, int]:
        await asyncio.gather(*(client.json(f"/{n}") for n in range(10)))
        return client.count.requests, client.count.retries

    found, _ = conversation(always(says({})), ask, limits=limits)
    assert found == (10, 0)


def test_it_can_be_interrupted_at_any_time() -> None:
    async def talk() -> None:
        async with faulty(always(Says(how="hang"))) as server:
            limits = HttpLimits()
            async with Client(server.url, limits=limits) as client:
                going = asyncio.create_task(client.json("/"))
                while not server.asked:
                    await asyncio.sleep(0)
                going.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await going

    asyncio.run(asyncio.wait_for(talk(), 5))


def test_nobody_listens() -> None:
    async def talk() -> None:
        async with faulty(always(says({}))) as server:
            port = server.port
        async with Client(f"http://127.0.0.1:{port}", limits=QUICK) as client:
            await client.json("/")

    with pytest.raises(problems.Unreachable, match="cannot be reached") as caught:
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

    with pytest.raises(problems.Unreachable) as caught:
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

    with pytest.raises(problems.BadAddress) as caught:
        asyncio.run(talk())
    assert "--server" in caught.value.what
    assert "hunter2" not in f"{caught.value.what} {caught.value.why}"


def test_a_server_that_repeats_our_token() -> None:
    def echo(asked: Asked) -> Says:
        return says({"message": f"no such user: {asked.headers['authorization']}"}, 400)

    for auth in (
        bearer("plain-words"),
        basic("me", "plain-words"),
        StaticHeaders({"Authorization": "x"}, secrets=("x",)),
    ):
        with pytest.raises(problems.Rejected) as caught:
            conversation(echo, list_pods, auth=auth)
        assert "plain-words" not in f"{caught.value.why} {caught.value.server_message} {caught.value}"
        assert "cGxhaW4" not in caught.value.why


def test_secrets_in_a_server_s_words_are_masked() -> None:
    result = says({"message": "cannot reach https://bot:hunter2pass@git.example.com/x"}, 400)
    with pytest.raises(problems.Rejected) as caught:
        conversation(always(result), list_pods)
    assert "hunter2pass" not in caught.value.why + caught.value.server_message
    assert "git.example.com" in caught.value.why


def test_ways_to_say_who_we_are(tmp_path: Path) -> None:
    def echo(asked: Asked) -> Says:
        return says({"auth": asked.headers.get("authorization"), "as": asked.headers.get("impersonate-user")})

    ask = list_pods
    assert conversation(echo, ask, auth=bearer("t"))[0] == {"auth": "Bearer t", "as": None}
    assert conversation(echo, ask, auth=basic("me", "pw"))[0] == {"auth": "Basic bWU6cHc=", "as": None}
    both = WithHeaders(bearer("t"), {"Impersonate-User": "jane"})
    assert conversation(echo, ask, auth=both)[0] == {"auth": "Bearer t", "as": "jane"}
    with pytest.raises(Exception, match="cannot be read"):
        conversation(echo, ask, auth=TokenFile(tmp_path / "none"))
    assert without_password("https://me:secret@host:1/x") == "https://host:1/x"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def over_tls(made: Certificates, tls: Tls, *, asks_clients: bool = False) -> Json:
    async def talk() -> Json:
        context = made.serving(asks_clients=asks_clients)
        async with faulty(always(says({"ok": True})), tls=context) as server:
            url = f"https://127.0.0.1:{server.port}"
            async with Client(url, tls=tls, limits=QUICK) as client:
                return await client.json("/")

    return asyncio.run(talk())


def test_certificates_that_are_trusted_and_not(made: Certificates) -> None:
    known = Tls(ca_pem=made.text("ca.crt"))
    assert over_tls(made, known) == {"ok": True}
    assert over_tls(made, Tls(ca_file=str(made.path("ca.crt")))) == {"ok": True}
    assert over_tls(made, Tls(insecure=True)) == {"ok": True}
    tls = Tls(ca_pem=made.text("ca.crt"), server_name="api.inside")
    assert over_tls(made, tls) == {"ok": True}
    with pytest.raises(problems.NotTrusted, match="is not trusted"):
        over_tls(made, Tls())
    with pytest.raises(problems.NotTrusted, match="is not trusted"):
        over_tls(made, Tls(ca_pem=made.text("ca.crt"), server_name="other.inside"))
    for bad in (Tls(ca_pem="nonsense"), Tls(ca_file="/nowhere"), Tls(certificate_pem="x", key_pem="y")):
        with pytest.raises(Exception, match="cannot be used"):
            over_tls(made, bad)


def test_our_own_certificate(made: Certificates) -> None:
    shown = Tls(
        ca_pem=made.text("ca.crt"), certificate_pem=made.text("client.crt"), key_pem=made.text("client.key")
    )
    assert over_tls(made, shown, asks_clients=True) == {"ok": True}
    filed = Tls(
        ca_file=str(made.path("ca.crt")),
        certificate_file=str(made.path("client.crt")),
        key_file=str(made.path("client.key")),
    )
    assert over_tls(made, filed, asks_clients=True) == {"ok": True}
    with pytest.raises(problems.HttpError):
        over_tls(made, Tls(ca_pem=made.text("ca.crt")), asks_clients=True)


def test_tls_where_there_is_none() -> None:
    async def talk() -> None:
        async with (
            faulty(always(says({}))) as server,
            Client(f"https://127.0.0.1:{server.port}", limits=QUICK) as client,
        ):
            await client.json("/")

    with pytest.raises(problems.HttpError):
        asyncio.run(talk())


def test_a_proxy_is_asked_in_the_server_s_place(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(**how: str) -> list[Asked]:
        async with faulty(always(says({}))) as proxy:
            for name in ("HTTP_PROXY", "http_proxy"):
                monkeypatch.setenv(name, how.get("environment", "").replace("PORT", str(proxy.port)))
            given = how.get("proxy", "").replace("PORT", str(proxy.port))
            async with Client("http://api.inside.example:1", proxy=given, limits=QUICK) as client:
                await client.json("/x")
        return proxy.asked

    for how in ({"proxy": "http://me:pw@127.0.0.1:PORT"}, {"environment": "http://127.0.0.1:PORT"}):
        (asked,) = asyncio.run(talk(**how))
        assert asked.target == "http://api.inside.example:1/x"


def test_a_proxy_of_an_unknown_kind() -> None:
    async def talk() -> None:
        async with Client("https://127.0.0.1:1", proxy="gopher://x", limits=QUICK) as client:
            await client.json("/")

    with pytest.raises(problems.BadAddress, match=r"gopher://x.*proxy-url"):
        asyncio.run(talk())
