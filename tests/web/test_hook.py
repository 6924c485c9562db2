"""`POST /api/v1/hooks/argocd`: only with its secret, and only to look at an app."""

from __future__ import annotations

import msgspec

from tests.web.sites import site_of
from whysync.errors import Unreadable
from whysync.notifications.argocd_hook import HookRequest
from whysync.web.access import Access
from whysync.web.http import Request, Response
from whysync.web.site import HOOK, Hook, Site

SECRET = "a-long-secret-of-the-hook"


def site(asked: list[HookRequest], secret: str = SECRET) -> Site:
    plain = site_of("/nowhere", access=Access(token="x" * 32))
    return Site(plain.fleet, plain.history, plain.access, Hook(secret=lambda: secret, look_at=asked.append))


def post(site: Site, body: object, secret: str = SECRET, method: str = "POST") -> Response:
    headers = {"authorization": f"Bearer {secret}", "host": "whysync.example.com"}
    return site.respond(Request(method=method, path=HOOK, headers=headers, body=msgspec.json.encode(body)))


def test_it_asks_to_look_at_the_app() -> None:
    asked: list[HookRequest] = []
    assert post(site(asked), {"app": "shop", "namespace": "argocd"}).status == 202
    assert asked == [HookRequest(app="shop", namespace="argocd")]


def test_a_wrong_secret_and_a_wrong_body_ask_nothing() -> None:
    asked: list[HookRequest] = []
    assert post(site(asked), {"app": "shop"}, "wrong").status == 401
    assert post(site(asked), {"app": "shop"}, "x" * 32).status == 401, "the token of viewers is another one"
    assert post(site(asked), {"app": "../etc"}).status == 400
    assert post(site(asked), {"app": "shop"}, method="GET").status == 401, "a GET is one of a viewer"
    assert post(site(asked), {"app": "shop"}, method="PUT").status == 405
    assert asked == []


def test_without_a_configuration_it_does_not_exist() -> None:
    plain = site_of("/nowhere")
    assert post(plain, {"app": "shop"}).status == 404


def test_a_secret_that_cannot_be_read_is_not_an_open_door() -> None:
    def unreadable() -> str:
        raise Unreadable(what="the file is gone")

    plain = site_of("/nowhere")
    asked: list[HookRequest] = []
    closed = Site(plain.fleet, plain.history, plain.access, Hook(secret=unreadable, look_at=asked.append))
    assert post(closed, {"app": "shop"}, "").status == 503
    assert asked == []
