"""The health of one object, or why Argo CD cannot assess it."""

from __future__ import annotations

import msgspec

from whysync.argocd.api.application import HealthCode


class HealthVerdict(msgspec.Struct, frozen=True):
    """`code` is empty where a user's Lua check answered with nothing: it then counts as Healthy."""

    code: HealthCode | None
    message: str = ""


class CannotJudge(Exception):
    """Upstream returns an error; the object counts as Unknown and shows this text."""
