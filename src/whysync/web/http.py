"""Requests and responses as plain values, so that pages are functions that tests can call."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from whysync.json_tree import Object
from whysync.reports.output import Safe

HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SECURITY_HEADERS: Final = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """`headers` have lower-case names; `peer` is the address of the client, or of the proxy."""

    method: str = "GET"
    path: str
    query: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    peer: str = "127.0.0.1"
    body: bytes = b""

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode("utf-8", "replace")))


class Response(msgspec.Struct, frozen=True, kw_only=True):
    status: int = 200
    body: bytes = b""
    content_type: str = HTML
    headers: tuple[tuple[str, str], ...] = (("Cache-Control", "no-store"),)

    @property
    def all_headers(self) -> tuple[tuple[str, str], ...]:
        return (("Content-Type", self.content_type), *self.headers, *_SECURITY_HEADERS)


def html(page: Safe, *, status: int = 200) -> Response:
    return Response(status=status, body=page.encode())


def json_response(value: object, *, status: int = 200) -> Response:
    return Response(status=status, body=msgspec.json.encode(value), content_type=JSON)


def json_error(status: HTTPStatus, message: str) -> Response:
    error: Object = {"error": message}
    return json_response(error, status=status.value)


def redirect(target: str, *headers: tuple[str, str]) -> Response:
    return Response(status=303, headers=(("Location", target), ("Cache-Control", "no-store"), *headers))
