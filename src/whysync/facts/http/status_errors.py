"""HTTP error statuses as errors with a message."""

from __future__ import annotations

from whysync.facts.http.errors import (
    Expired,
    Forbidden,
    HttpError,
    Intercepted,
    Missing,
    NotAuthenticated,
    Overloaded,
    Rejected,
    ServerFailed,
)
from whysync.facts.http.response import Response
from whysync.facts.masking import Masker

_LOGIN = "log in again, or give another token: this one is wrong or has expired"
_IN_FRONT = (
    "check the server's address and root path, and what a proxy or a login page in front of it requires"
)


def error_of(response: Response, name: str, login: str = "") -> HttpError:
    """`name` is how messages call the server, `login` how to log in. Secrets are removed from its message."""
    status, path = response.status, response.path
    message = Masker().masked_text(response.server_message)
    why = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    if response.is_web_page:
        why = f"HTTP {status} with a web page, from something in front of the server"
        if 400 <= status < 500 and status not in (401, 429):
            return Intercepted(
                what=f"a web page came instead of the response of {name}",
                why=f"{path}: HTTP {status}, from something in front of the server",
                next=_IN_FRONT,
                status=status,
                path=path,
            )
    if status == 401:
        return NotAuthenticated(
            what=f"{name} rejects these credentials",
            why=why,
            next=login or _LOGIN,
            status=status,
            server_message=message,
            path=path,
        )
    if status == 403:
        return Forbidden(
            what=f"{name} forbids {path}",
            why=why,
            next="ask for that permission",
            status=status,
            server_message=message,
            path=path,
        )
    if status == 404:
        return Missing(
            what=f"{name} has no {path}",
            why=why,
            next="" if response.is_json else "check the server's address and root path",
            status=status,
            server_message=message,
            path=path,
        )
    if status == 410:
        expired = Expired(
            what=f"{name} no longer has the state that {path} continues",
            why=why,
            next="try again",
            status=status,
            server_message=message,
            path=path,
        )
        expired.token = response.next_token
        return expired
    if status in (429, 503):
        return Overloaded(
            what=f"{name} is overloaded",
            why=f"{path}: {why}",
            next="try again later",
            status=status,
            server_message=message,
            path=path,
        )
    if status >= 500:
        return ServerFailed(
            what=f"{name} failed on {path}",
            why=why,
            next="check its logs",
            status=status,
            server_message=message,
            path=path,
        )
    return Rejected(
        what=f"{name} rejects the request {path}", why=why, status=status, server_message=message, path=path
    )
