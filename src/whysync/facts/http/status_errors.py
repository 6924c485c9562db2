"""HTTP error statuses as errors with a message."""

from __future__ import annotations

from whysync.facts.http.errors import (
    Expired,
    Forbidden,
    HttpError,
    Missing,
    NotAuthenticated,
    Overloaded,
    Rejected,
    ServerFailed,
)
from whysync.facts.http.response import Answer
from whysync.facts.masking import Masker


def problem_of(answer: Answer, name: str) -> HttpError:
    """`name` is how messages call the server. Secrets are removed from its message."""
    status, path = answer.status, answer.path
    message = Masker().masked_text(answer.server_message)
    why = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    if status == 401:
        return NotAuthenticated(
            what=f"{name} does not accept these credentials",
            why=why,
            next="log in again, or give another token: this one is wrong or has expired",
            status=status,
            server_message=message,
            path=path,
        )
    if status == 403:
        return Forbidden(
            what=f"{name} does not allow {path}",
            why=why,
            next="ask for that permission",
            status=status,
            server_message=message,
            path=path,
        )
    if status == 404:
        return Missing(
            what=f"{name} has no {path}", why=why, status=status, server_message=message, path=path
        )
    if status == 410:
        expired = Expired(
            what=f"{name} no longer keeps what {path} went on from",
            why=why,
            next="ask again from the beginning",
            status=status,
            server_message=message,
            path=path,
        )
        expired.token = answer.next_token
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
            next="see its logs",
            status=status,
            server_message=message,
            path=path,
        )
    return Rejected(
        what=f"{name} does not accept {path}", why=why, status=status, server_message=message, path=path
    )
