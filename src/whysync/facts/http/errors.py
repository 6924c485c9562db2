"""What can go wrong between us and a server, each with its own words and its own type.

    SourceError
    ├── BadAddress           the address of the server or of its proxy cannot be used (a UsageError too)
    ├── Unreachable          no connection: refused, no such host, reset again and again
    │   └── TimedOut         connected, but no (whole) answer in the time that was given
    ├── NotTrusted           the server's certificate, or ours, is not accepted
    ├── NotAuthenticated     401: it does not know who we are
    ├── Forbidden            403: it knows, and does not allow it
    ├── Missing              404: there is nothing of that name
    ├── Expired              410: what we held on to (a page, a version) is no longer kept
    ├── Rejected             another 4xx: the request itself is not accepted
    ├── Overloaded           429 or 503, still so after patience
    ├── ServerFailed         another 5xx, still so after patience
    ├── LedElsewhere         a redirect that we do not follow
    ├── Garbled              an answer that is not what it should be: cut off, or not JSON
    └── TooLarge             an answer beyond the stated limit

`status` is the HTTP status where there is one, `said` the server's own words, `path` what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from whysync import errors


class HttpError(errors.SourceError):
    """Anything that kept an answer from us."""

    def __init__(
        self, *, what: str, why: str = "", next: str = "", status: int = 0, said: str = "", path: str = ""
    ) -> None:
        super().__init__(what=what, why=why, next=next)
        self.status = status
        self.said = said
        self.path = path

    def rewritten(self, change: Callable[[str], str]) -> Self:
        """The same problem with every text changed, such as without the values of secrets."""
        self.what, self.why, self.next = change(self.what), change(self.why), change(self.next)
        self.said = change(self.said)
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
    """With which Kubernetes offers to go on, from the present state."""


class Rejected(HttpError):
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


LOST = (Unreachable, NotTrusted, NotAuthenticated)
"""With one of these the whole server is out of reach, not only the one thing that was asked for."""
