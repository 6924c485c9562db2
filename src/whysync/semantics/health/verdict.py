"""One judgement of one object's health."""

from __future__ import annotations

from dataclasses import dataclass

from whysync.contracts.application import HealthCode


@dataclass(frozen=True, slots=True)
class Verdict:
    """`code` is empty where a user's Lua check answered with nothing: it then counts as Healthy."""

    code: HealthCode | None
    message: str = ""
