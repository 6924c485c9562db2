"""An HTTP response: status, headers, body; and the body as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from whysync.facts.http.errors import MalformedResponse
from whysync.json_tree import Json, Object, fields, garbage_collection_paused, text

_MAX_MESSAGE = 600


class Response(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    status: int
    # lower-case names
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Json:
        return decoded(self.body, path=self.path, kind=self.headers.get("content-type", ""))

    def object(self) -> Object:
        body = self.json()
        if not isinstance(body, dict):
            raise MalformedResponse(
                what=f"the response to {self.path} is not an object",
                why=f"it starts with {_quoted_start(self.body)}",
                path=self.path,
            )
        return body

    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def is_web_page(self) -> bool:
        return not self.is_json and is_html(self.body, self.headers.get("content-type", ""))

    @property
    def is_json(self) -> bool:
        """Is it an error of an API, as Argo CD and Kubernetes write them?"""
        return bool(self._error_body())

    @property
    def server_message(self) -> str:
        """The server's error message: Kubernetes' `message`, Argo CD's `error`, or plain text."""
        error_body = self._error_body()
        message = text(error_body.get("message")) or text(error_body.get("error"))
        if message:
            return _truncated(message)
        return "" if self.is_web_page else _truncated(self.body[: 1 << 20].decode("utf-8", "replace"))

    @property
    def next_token(self) -> str:
        """Kubernetes' `continue` token, also of an error response."""
        return text(fields(self._error_body().get("metadata")).get("continue"))

    def _error_body(self) -> Object:
        if self.body[:1] != b"{" or len(self.body) > 1 << 20:
            return {}
        try:
            return fields(cast("Json", msgspec.json.decode(self.body)))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return {}


def decoded(body: bytes, *, path: str, kind: str = "") -> Json:
    """The body as JSON. Garbage collection is disabled, because it doubles the time for large bodies."""
    try:
        with garbage_collection_paused():
            return cast("Json", msgspec.json.decode(body))
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise _not_json(body, path=path, kind=kind, problem=problem) from problem


def is_html(body: bytes, kind: str) -> bool:
    return "html" in kind or body[:200].lstrip()[:1] == b"<"


def _not_json(body: bytes, *, path: str, kind: str, problem: Exception) -> MalformedResponse:
    if is_html(body, kind):
        return MalformedResponse(
            what=f"the response to {path} is a web page",
            why="something in front of the server responded, such as a login page or a proxy",
            next="check the server's address and root path; give a token if there is a login",
            path=path,
        )
    why = "it is empty" if not body.strip() else str(problem) or type(problem).__name__
    if isinstance(problem, RecursionError):
        why = "it is nested too deeply"
    return MalformedResponse(what=f"the response to {path} is not JSON", why=why, next="try again", path=path)


def _quoted_start(body: bytes) -> str:
    return repr(body[:20].decode("utf-8", "replace"))


def _truncated(message: str) -> str:
    message = " ".join(message.split())
    return message if len(message) <= _MAX_MESSAGE else f"{message[:_MAX_MESSAGE]}…"
