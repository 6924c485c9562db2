"""Authentication: headers for each request, and renewal after a 401."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from whysync.errors import Unreadable
from whysync.files import read_file

# several values of one name become several headers
Headers = Mapping[str, str | tuple[str, ...]]


class Auth(Protocol):
    async def headers(self) -> Headers: ...

    async def renew(self) -> bool:
        """Get other credentials after a 401. False if there are none."""
        ...

    def secrets(self) -> Iterable[str]:
        """All values that output must not contain."""
        ...


class StaticHeaders:
    """The same headers each time, possibly none."""

    def __init__(self, headers: Mapping[str, str] | None = None, *, secrets: Iterable[str] = ()) -> None:
        self._headers = dict(headers or {})
        self._secrets = tuple(secrets)

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    async def renew(self) -> bool:
        return False

    def secrets(self) -> Iterable[str]:
        return self._secrets


def bearer(token: str) -> StaticHeaders:
    return StaticHeaders({"Authorization": f"Bearer {token}"}, secrets=(token,))


def basic(name: str, password: str) -> StaticHeaders:
    pair = base64.b64encode(f"{name}:{password}".encode()).decode()
    return StaticHeaders({"Authorization": f"Basic {pair}"}, secrets=(pair, password))


class TokenFile:
    """A token in a file that another process renews, such as a projected service account token."""

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

    def secrets(self) -> Iterable[str]:
        return (self._token,)

    def _read(self) -> None:
        try:
            token = read_file(self._path).decode("utf-8").strip()
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


class WithHeaders:
    """Additional headers: impersonation (`kubectl --as`), or `-H`."""

    def __init__(self, inner: Auth, headers: Headers, *, secrets: Iterable[str] = ()) -> None:
        self.inner = inner
        self._secrets = tuple(secrets)
        self._headers = dict(headers)

    async def headers(self) -> Headers:
        return {**await self.inner.headers(), **self._headers}

    async def renew(self) -> bool:
        return await self.inner.renew()

    def secrets(self) -> Iterable[str]:
        return (*self.inner.secrets(), *self._secrets)
