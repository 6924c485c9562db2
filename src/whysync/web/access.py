"""Who may see what: nobody but this machine, holders of a token, or users that a proxy has identified."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final

import msgspec

from whysync.errors import UsageError
from whysync.history.model import Incident
from whysync.watch.fleet import AppState
from whysync.web.http import Request

COOKIE: Final = "whysync_session"
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_MOST_SESSIONS: Final = 10_000
_MOST_WRONG_TOKENS: Final = 10
WRONG_TOKEN_SECONDS: Final = 60
_MOST_PEERS: Final = 10_000


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks. `projects`: the AppProjects that they may see, or `None` for all."""

    name: str = ""
    projects: frozenset[str] | None = None

    def sees_project(self, project: str) -> bool:
        return self.projects is None or project in self.projects

    def sees(self, item: AppState | Incident) -> bool:
        return self.sees_project(item.row.project if isinstance(item, AppState) else item.project)


class SignInLimit:
    """Wrong tokens by address: after a few within a minute, no token of that address is checked.

    Behind a proxy all viewers have one address, so the limit ends after a minute by itself.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._wrong: dict[str, list[float]] = {}

    def is_reached(self, peer: str) -> bool:
        with self._lock:
            return len(self._recent(peer)) >= _MOST_WRONG_TOKENS

    def wrong(self, peer: str) -> None:
        with self._lock:
            self._wrong[peer] = [*self._recent(peer), self._clock()][-_MOST_WRONG_TOKENS:]
            while len(self._wrong) > _MOST_PEERS:
                self._wrong.pop(next(iter(self._wrong)))

    def _recent(self, peer: str) -> list[float]:
        return [at for at in self._wrong.get(peer, ()) if self._clock() - at < WRONG_TOKEN_SECONDS]


class Access:
    """Checks requests. Without a token and a header, only names of this machine are served.

    A page of another site can let a browser send requests to 127.0.0.1; its host name gives it away (DNS
    rebinding). `user_header` counts only from `proxies`, the addresses of the proxy.
    """

    def __init__(
        self,
        *,
        token: str = "",
        user_header: str = "",
        projects_header: str = "",
        proxies: frozenset[str] = frozenset({"127.0.0.1", "::1"}),
    ) -> None:
        self._token = token
        self._user_header = user_header.lower()
        self._projects_header = projects_header.lower()
        self._proxies = proxies
        self._sessions: dict[str, None] = {}
        self.sign_in_limit = SignInLimit()

    @property
    def is_open(self) -> bool:
        return not self._token and not self._user_header

    @property
    def takes_token(self) -> bool:
        return bool(self._token)

    def viewer(self, request: Request) -> Viewer | None:
        """`None` if the request may not see anything."""
        if self.is_open:
            return Viewer() if _host(request) in _LOOPBACK_NAMES else None
        if self._user_header and request.peer in self._proxies:
            user = request.headers.get(self._user_header, "").strip()
            if user:
                return Viewer(name=user, projects=self._projects(request))
        if self._token and (self._has_token(request) or self._has_session(request)):
            return Viewer(name="token")
        return None

    def _projects(self, request: Request) -> frozenset[str] | None:
        """Without the header, a user whose projects are unknown sees none."""
        if not self._projects_header:
            return None
        values = request.headers.get(self._projects_header, "").split(",")
        projects = frozenset(value.strip() for value in values if value.strip())
        return None if "*" in projects else projects

    def _has_token(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_token(token.strip())

    def is_token(self, token: str) -> bool:
        return bool(self._token) and hmac.compare_digest(token.encode(), self._token.encode())

    def _has_session(self, request: Request) -> bool:
        try:
            cookie = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and cookie.value in self._sessions

    def new_session(self, *, secure: bool) -> tuple[str, str]:
        """The header that sets the cookie of a new session."""
        while len(self._sessions) >= _MOST_SESSIONS:
            self._sessions.pop(next(iter(self._sessions)))
        session = secrets.token_urlsafe(32)
        self._sessions[session] = None
        flags = "; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
        return "Set-Cookie", f"{COOKIE}={session}{flags}"


def _host(request: Request) -> str:
    host = request.headers.get("host", "").lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def token_of(path: str) -> str:
    """The token in a file, without the line break at its end."""
    try:
        token = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(what=f"{path} cannot be read", why=str(problem)) from problem
    if len(token) < 16:
        raise UsageError(
            what=f"the token in {path} is too short",
            why="at least 16 characters are needed",
            next=f"create one: openssl rand -hex 32 > {path}",
        )
    return token
