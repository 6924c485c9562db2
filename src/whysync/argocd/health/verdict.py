"""One judgement of one object's health."""

from __future__ import annotations

import msgspec

from whysync.argocd.api.application import HealthCode


class HealthVerdict(msgspec.Struct, frozen=True):
    """`code` is empty where a user's Lua check answered with nothing: it then counts as Healthy."""

    code: HealthCode | None
    message: str = ""
