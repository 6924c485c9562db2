"""Who we say we are: headers for each request, and a second chance after a 401."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from whysync.errors import Unreadable

# several values of one name are several headers
Headers = Mapping[str, str | tuple[str, ...]]


class Auth(Protocol):
    async def headers(self) -> Headers: ...

    async def renew(self) -> bool:
        """After a 401: get other credentials. False when there are no others to be had."""
        ...


class Fixed:
    """The same headers for ever, such as none at all."""

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        self._headers = dict(headers or {})

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    async def renew(self) -> bool:
        return False


def bearer(token: str) -> Fixed:
    return Fixed({"Authorization": f"Bearer {token}"})


def basic(name: str, password: str) -> Fixed:
    pair = base64.b64encode(f"{name}:{password}".encode()).decode()
    return Fixed({"Authorization": f"Basic {pair}"})


class TokenFile:
    """A token in a file that somebody else renews (a projected service account token is, every hour)."""

    def __init__(self, path: Path, *, fallback: str = "") -> None:
        self._path = path
        self._token = fallback

    async def headers(self) -> Mapping[str, str]:
        if not self._token or self._path.exists():
            self._read()
        return {"Authorization": f"Bearer {self._token}"}

    async def renew(self) -> bool:
        before = self._token
        self._read()
        return self._token != before

    def _read(self) -> None:
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as problem:
            if self._token:
                return
            why = problem.strerror if isinstance(problem, OSError) else "it is not text"
            raise Unreadable(
                what=f"the token file {self._path} cannot be read",
                why=why or "",
                next="make it readable, or give another token",
            ) from problem
        if token:
            self._token = token
        elif not self._token:
            raise Unreadable(what=f"the token file {self._path} is empty")


class As:
    """Another identity on top, as `kubectl --as` asks for."""

    def __init__(self, inner: Auth, headers: Headers) -> None:
        self.inner = inner
        self._headers = dict(headers)

    async def headers(self) -> Headers:
        return {**await self.inner.headers(), **self._headers}

    async def renew(self) -> bool:
        return await self.inner.renew()
