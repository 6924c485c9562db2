"""A rejected token: which command renews it, and when it expired."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.facts.argocd_api.scenes import shop
from tests.facts.argocd_api.server import ArgoCD, Fault, at
from whysync.facts.argocd_api.api import login_hint
from whysync.facts.argocd_api.server import ArgoServer
from whysync.json_tree import Json

NOW = datetime(2026, 3, 2, 9, 5, tzinfo=UTC)


def token(**claims: Json) -> str:
    head, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "RS256"}, claims)
    )
    return f"{head}.{body}.signature"


def test_an_expired_sso_token_of_a_context() -> None:
    expired = token(iss="https://dex.example.com", exp=1772442000)
    server = ArgoServer(address="argocd.example.com", token=expired, context="prod", root_path="/cd")
    hint = login_hint(server, now=NOW)
    assert "argocd login argocd.example.com --sso --grpc-web-root-path /cd" in hint
    assert "the token of context prod expired at 2026-03-02 09:00 UTC" in hint
    assert expired not in hint


@pytest.mark.parametrize(
    "written",
    [
        "opaque",
        "a.b.c",
        "..",
        token(),
        token(iss="argocd", exp="soon"),
        token(iss="argocd", exp=1e300),
        token(iss="argocd", exp=float("inf")),
        token(iss="argocd", exp=-5),
        f"a.{base64.urlsafe_b64encode(b'[1]').decode()}.c",
    ],
)
def test_without_a_known_end(written: str) -> None:
    hint = login_hint(ArgoServer(address="argocd.example.com", token=written), now=NOW)
    assert hint.startswith("log in again (argocd login argocd.example.com")
    assert hint.endswith("this one is wrong or has expired")


def test_a_token_file_is_renewed_by_another_program() -> None:
    server = ArgoServer(address="argocd.example.com", token_file="/run/secrets/token")
    assert login_hint(server).startswith("write a new token to /run/secrets/token")


def test_the_command_line_names_it(whysync: Whysync) -> None:
    with ArgoCD(shop()) as argocd:
        argocd.fault("/api/v1/applications", Fault.UNAUTHENTICATED)
        ran = whysync("shop", *at(argocd))
    assert ran.code == 2
    assert "argocd login 127.0.0.1:" in ran.err
    assert " --plaintext)" in ran.err, "without it, argocd asks for TLS"


def test_a_token_that_was_given_is_not_that_of_the_context(whysync: Whysync, tmp_path: Path) -> None:
    with ArgoCD(shop()) as argocd:
        argocd.fault("/api/v1/applications", Fault.UNAUTHENTICATED)
        address = argocd.server().address.rpartition("://")[2]
        config = {
            "contexts": [{"name": "prod", "server": address, "user": "prod"}],
            "current-context": "prod",
            "servers": [{"server": address, "plain-text": True}],
            "users": [{"name": "prod", "auth-token": token(iss="argocd", exp=1772442000)}],
        }
        (tmp_path / "config").write_text(json.dumps(config))
        at_server = ("--server", address, "--config", str(tmp_path / "config"))
        own = whysync("shop", *at_server)
        given = whysync("shop", *at_server, "--auth-token", token(iss="argocd", exp=1772442001))
    assert "the token of context prod expired at" in own.err
    assert "the token expired at" in given.err
