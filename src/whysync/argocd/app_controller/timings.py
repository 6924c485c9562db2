"""Timings of the controller, from its command line or argocd-cmd-params-cm."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec

from whysync.argocd.app_controller.auto_sync import SelfHealBackoff

_HEAL: Final = "controller.self.heal"


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    self_heal: SelfHealBackoff = msgspec.field(default_factory=SelfHealBackoff)
    sync_timeout: timedelta = timedelta()
    """Zero means no timeout."""
    wave_delay: float = 2
    step: timedelta = timedelta(seconds=30)
    """The interval of steps of a sync that waits."""
    step_after_change: timedelta = timedelta(seconds=5)

    @classmethod
    def of(cls, params: Mapping[str, str]) -> Timings:
        """`params` is the data of argocd-cmd-params-cm; values that are not numbers are ignored."""
        base = _seconds(params, f"{_HEAL}.backoff.timeout.seconds", 2)
        return cls(
            self_heal=SelfHealBackoff(
                base=timedelta(seconds=base) if base else None,
                factor=_seconds(params, f"{_HEAL}.backoff.factor", 3),
                cap=timedelta(seconds=_seconds(params, f"{_HEAL}.backoff.cap.seconds", 300)),
                # A sync takes no time here: without a delay, a fight over a field would loop forever.
                plain=timedelta(seconds=max(1, _seconds(params, f"{_HEAL}.timeout.seconds", 0))),
            ),
            sync_timeout=timedelta(seconds=_seconds(params, "controller.sync.timeout.seconds", 0)),
            wave_delay=_seconds(params, "controller.sync.wave.delay.seconds", 2),
        )


def _seconds(params: Mapping[str, str], key: str, default: int) -> int:
    value = params.get(key, "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else default
