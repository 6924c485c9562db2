"""Secrets of channels: read when they are used, and never printed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from whysync.errors import Unreadable
from whysync.notifications.config import SecretSource

_MOST_BYTES: Final = 16_384


class SecretText(str):
    """A secret. Its `repr` is hidden, so that no error message or log shows it by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def read_secret(source: SecretSource, environ: Mapping[str, str] = os.environ) -> SecretText:
    """The secret, without spaces around it. The error says where it should be, never what it is."""
    if source.env:
        value = environ.get(source.env, "").strip()
        if not value:
            raise _missing(f"environment variable {source.env} is not set")
        return SecretText(value)
    try:
        with Path(source.file).expanduser().open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise _missing(f"{source.file} cannot be read: {problem.strerror or 'error'}") from None
    if len(data) > _MOST_BYTES:
        raise _missing(f"{source.file} is larger than {_MOST_BYTES} bytes")
    try:
        value = data.decode().strip()
    except UnicodeDecodeError:
        raise _missing(f"{source.file} is not text") from None
    if not value:
        raise _missing(f"{source.file} is empty")
    return SecretText(value)


def _missing(what: str) -> Unreadable:
    return Unreadable(what=what, why="the configuration reads a secret from there", next="provide the secret")
