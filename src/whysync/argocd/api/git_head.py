"""The commit that a revision of a Git repository resolves to."""

from __future__ import annotations

import msgspec


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a revision of a repository resolves to now."""

    repo: str
    revision: str
    commit: str
