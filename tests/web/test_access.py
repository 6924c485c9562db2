"""Access: this machine alone, a token, or a proxy's user with the projects that they may see."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.history.looks import WEBHOOK_DOWN, look
from tests.web.sites import EXAMPLES, get, site_of, text_of
from whysync.errors import UsageError
from whysync.web.access import Access, SignInLimit, token_of
from whysync.web.http import Request
from whysync.web.page import app_url

TOKEN = "a-token-of-enough-length"


def test_without_a_token_only_names_of_this_machine_are_served() -> None:
    site = site_of(EXAMPLES[0])
    for host in ("localhost:8400", "127.0.0.1", "[::1]:8400"):
        assert get(site, "/", host=host).status == 200
    for host in ("evil.example.com", "127.0.0.1.evil.example.com", ""):
        response = get(site, "/", host=host)
        assert response.status == 403
        assert b"autoscaler" not in response.body
    assert get(site, "/api/v1/apps", host="evil.example.com").status == 403
    assert get(site, "/healthz", host="evil.example.com").status == 200


def test_a_token_is_needed_as_a_header_or_after_signing_in() -> None:
    site = site_of(EXAMPLES[0], access=Access(token=TOKEN))
    assert get(site, "/api/v1/apps").status == 401
    assert get(site, "/metrics").status == 401
    assert get(site, "/api/v1/apps", authorization="Bearer wrong").status == 401
    assert get(site, "/api/v1/apps", authorization=f"Bearer {TOKEN}").status == 200
    page = get(site, "/incidents", accept="text/html")
    assert page.status == 303
    assert dict(page.headers)["Location"] == "/login?next=%2Fincidents"


def _login(token: str, target: str = "/") -> Request:
    body = f"token={token}".encode()
    return Request(method="POST", path="/login", query={"next": target}, body=body)


def test_signing_in_sets_a_cookie_that_scripts_and_other_sites_cannot_use() -> None:
    site = site_of(EXAMPLES[0], access=Access(token=TOKEN))
    assert site.respond(_login("wrong")).status == 401
    response = site.respond(_login(TOKEN, "/incidents"))
    headers = dict(response.headers)
    assert headers["Location"] == "/incidents"
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert get(site, "/", cookie=cookie.partition(";")[0]).status == 200
    assert get(site, "/", cookie="whysync_session=guessed", accept="application/json").status == 401


def test_tokens_cannot_be_guessed_one_after_another() -> None:
    site = site_of(EXAMPLES[0], access=Access(token=TOKEN))
    seconds = [0.0]
    site.access.sign_in_limit = SignInLimit(lambda: seconds[0])
    statuses = [site.respond(_login(f"wrong-{number}")).status for number in range(11)]
    assert statuses == [401] * 10 + [429]
    refused = site.respond(_login(TOKEN))
    assert refused.status == 429, "not even the right one tells a guesser that it is right"
    assert dict(refused.headers)["Retry-After"] == "60"
    assert site.respond(replace(_login(TOKEN), peer="192.0.2.7")).status == 303, "another address"
    seconds[0] = 61.0
    assert site.respond(_login(TOKEN)).status == 303


@pytest.mark.parametrize("target", ["https://evil.example.com/", "//evil.example.com", "/\\evil.example.com"])
def test_signing_in_never_leads_to_another_site(target: str) -> None:
    site = site_of(EXAMPLES[0], access=Access(token=TOKEN))
    assert dict(site.respond(_login(TOKEN, target)).headers)["Location"] == "/"


def _as_user(path: str, peer: str, **headers: str) -> Request:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(path=path, peer=peer, headers={"host": "whysync.example.com", **names})


def test_a_proxys_user_sees_the_projects_that_the_proxy_lists() -> None:
    access = Access(user_header="X-User", projects_header="X-Projects", proxies=frozenset({"10.0.0.5"}))
    site = site_of(EXAMPLES[0], access=access)
    [state] = site.fleet.apps()
    for path in (
        "/",
        app_url(state.key),
        "/incidents",
        "/api/v1/apps",
        f"/api/v1{app_url(state.key)}",
        "/incidents/1",
    ):
        others = site.respond(_as_user(path, "10.0.0.5", x_user="mia", x_projects="other"))
        assert state.key.name.encode() not in others.body.replace(path.encode(), b""), path
        none = site.respond(_as_user(path, "10.0.0.5", x_user="mia"))
        assert none.status in (200, 404)
        assert b"replicas" not in none.body, path
        own = site.respond(_as_user(path, "10.0.0.5", x_user="mia", x_projects=f"a, {state.row.project}"))
        assert state.key.name.encode() in own.body, path
        everything = site.respond(_as_user(path, "10.0.0.5", x_user="mia", x_projects="*"))
        assert state.key.name.encode() in everything.body, path
    assert site.respond(_as_user("/metrics", "10.0.0.5", x_user="mia", x_projects="a")).status == 404


def test_an_incident_does_not_tell_how_many_apps_of_other_projects_share_its_cause() -> None:
    access = Access(user_header="X-User", projects_header="X-Projects", proxies=frozenset({"10.0.0.5"}))
    site = site_of(access=access)
    own, other = look(WEBHOOK_DOWN), replace(look(WEBHOOK_DOWN, app="cart"), project="other")
    id, _ = site.history.record([own, other])

    def shown(projects: str) -> bool:
        page = site.respond(_as_user(f"/incidents/{id}", "10.0.0.5", x_user="mia", x_projects=projects))
        assert page.status == 200
        return b"1 other app" in page.body

    assert shown("*")
    assert not shown("store")
    site.history.close()


def test_headers_of_anybody_but_the_proxy_do_not_count() -> None:
    site = site_of(EXAMPLES[0], access=Access(user_header="X-User", proxies=frozenset({"10.0.0.5"})))
    assert site.respond(_as_user("/", "10.0.0.6", x_user="mia")).status == 401
    assert site.respond(_as_user("/", "10.0.0.5")).status == 401
    assert site.respond(_as_user("/", "10.0.0.5", x_user="mia")).status == 200


def test_nothing_but_signing_in_takes_a_post() -> None:
    site = site_of(EXAMPLES[0])
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        request = Request(method=method, path="/api/v1/apps", headers={"host": "localhost"})
        assert site.respond(request).status == 405


def test_every_response_has_the_security_headers() -> None:
    site = site_of(EXAMPLES[0])
    for path in ("/", "/api/v1/apps", "/static/live.js", "/nothing"):
        headers = dict(get(site, path).all_headers)
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in dict(get(site, "/").all_headers)["Cache-Control"]
    assert text_of(site, "/healthz") == "ok\n"


def test_a_short_or_missing_token_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert token_of(str(file)) == TOKEN
    file.write_text("short\n")
    with pytest.raises(UsageError, match="too short"):
        token_of(str(file))
    with pytest.raises(UsageError, match="cannot be read"):
        token_of(str(tmp_path / "none"))
