"""Errors of the HTTP client, one type for each.

    SourceError
    ├── BadAddress           the address of the server or of its proxy cannot be used (a UsageError too)
    ├── Unreachable          no connection: refused, unknown host, reset repeatedly
    │   └── TimedOut         connected, but no (complete) response in time
    ├── NotTrusted           the server's or our certificate is rejected
    ├── NotAuthenticated     401: the credentials are rejected
    ├── Forbidden            403: the account lacks the permission
    ├── Missing              404: not found
    ├── Expired              410: the page or version is no longer available
    ├── Rejected             another 4xx: the request is refused
    ├── Overloaded           429 or 503 after all retries
    ├── ServerFailed         another 5xx after all retries
    ├── Intercepted          a 4xx with a web page: from a proxy or a login page in front of the server
    ├── RedirectedElsewhere  a redirect to another host
    ├── MalformedResponse    an invalid response: truncated, or not JSON
    └── TooLarge             a response larger than the limit

`status` is the HTTP status if there is one, `server_message` the server's message, `path` the requested path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from whysync import errors
from whysync.facts.snapshot import GapKind


class HttpError(errors.SourceError):
    """Any reason why there is no usable response."""

    def __init__(
        self,
        *,
        what: str,
        why: str = "",
        next: str = "",
        status: int = 0,
        server_message: str = "",
        path: str = "",
    ) -> None:
        super().__init__(what=what, why=why, next=next)
        self.status = status
        self.server_message = server_message
        self.path = path

    def rewritten(self, change: Callable[[str], str]) -> Self:
        """The same error with every text changed, for example to remove secrets."""
        self.what, self.why, self.next = change(self.what), change(self.why), change(self.next)
        self.server_message = change(self.server_message)
        self.args = (self.what,)
        return self


class BadAddress(HttpError, errors.UsageError):
    pass


class Unreachable(HttpError):
    pass


class TimedOut(Unreachable):
    pass


class NotTrusted(HttpError):
    pass


class NotAuthenticated(HttpError):
    pass


class Forbidden(HttpError):
    pass


class Missing(HttpError, errors.NotFound):
    pass


class Expired(HttpError):
    token = ""
    """The token that Kubernetes offers to continue with the current state."""


class Rejected(HttpError):
    pass


class Intercepted(HttpError):
    pass


class Overloaded(HttpError):
    pass


class ServerFailed(HttpError):
    pass


class RedirectedElsewhere(HttpError):
    pass


class MalformedResponse(HttpError, errors.Unreadable):
    pass


class TooLarge(HttpError, errors.TooLarge):
    pass


CONNECTION_ERRORS = (Unreachable, NotTrusted, NotAuthenticated)
"""Errors that affect the whole server, not only one request."""


def gap_kind(problem: errors.WhysyncError) -> GapKind:
    """The kind of gap that this error causes."""
    match problem:
        case Forbidden() | NotAuthenticated():
            return GapKind.FORBIDDEN
        case Unreachable() | NotTrusted() | Overloaded() | BadAddress() | Intercepted():
            return GapKind.UNREACHABLE
        case Missing() | Expired() | errors.NotFound():
            return GapKind.NOT_COLLECTED
        case errors.Unreadable():
            return GapKind.UNREADABLE
        case errors.TooLarge():
            return GapKind.TRUNCATED
        case _:
            return GapKind.FAILED
