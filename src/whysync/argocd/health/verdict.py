"""The health of one object, or why Argo CD cannot assess it."""

from __future__ import annotations

import msgspec

from whysync.argocd.api.application import HealthCode


class HealthVerdict(msgspec.Struct, frozen=True):
    """`code` is `None` if a user's Lua check returned nothing, which counts as Healthy."""

    code: HealthCode | None
    message: str = ""


class CannotJudge(Exception):
    """Upstream returns an error; the object is Unknown with this text."""
