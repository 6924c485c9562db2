"""Who we say we are: headers for each request, and a second chance after a 401."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from whysync.errors import Unreadable
from whysync.files import read_file

# several values of one name are several headers
Headers = Mapping[str, str | tuple[str, ...]]


class Auth(Protocol):
    async def headers(self) -> Headers: ...

    async def renew(self) -> bool:
        """After a 401: get other credentials. False when there are no others to be had."""
        ...

    def secrets(self) -> Iterable[str]:
        """Every value that no output may show."""
        ...


class Fixed:
    """The same headers each time, such as none at all."""

    def __init__(self, headers: Mapping[str, str] | None = None, *, secrets: Iterable[str] = ()) -> None:
        self._headers = dict(headers or {})
        self._secrets = tuple(secrets)

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    async def renew(self) -> bool:
        return False

    def secrets(self) -> Iterable[str]:
        return self._secrets


def bearer(token: str) -> Fixed:
    return Fixed({"Authorization": f"Bearer {token}"}, secrets=(token,))


def basic(name: str, password: str) -> Fixed:
    pair = base64.b64encode(f"{name}:{password}".encode()).decode()
    return Fixed({"Authorization": f"Basic {pair}"}, secrets=(pair, password))


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


class As:
    """Further headers on top: another identity as `kubectl --as` asks for, or those of `-H`."""

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
