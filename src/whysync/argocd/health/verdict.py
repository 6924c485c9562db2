"""The health of one object, or why Argo CD cannot assess it."""

from __future__ import annotations

from typing import Final

import msgspec

from whysync.argocd.api.application import HealthCode

HEALTHY: Final = HealthCode.HEALTHY
SUSPENDED: Final = HealthCode.SUSPENDED
PROGRESSING: Final = HealthCode.PROGRESSING
MISSING: Final = HealthCode.MISSING
DEGRADED: Final = HealthCode.DEGRADED
UNKNOWN: Final = HealthCode.UNKNOWN


class HealthVerdict(msgspec.Struct, frozen=True):
    """`code` is `None` if a user's Lua check returned nothing, which counts as Healthy."""

    code: HealthCode | None
    message: str = ""


class CannotJudge(Exception):
    """Upstream returns an error; the object is Unknown with this text."""
