"""The commit that a revision of a Git repository resolves to."""

from __future__ import annotations

import msgspec


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A revision of a repository and its current commit."""

    repo: str
    revision: str
    commit: str
