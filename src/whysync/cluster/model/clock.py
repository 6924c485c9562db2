"""A clock that stands still until somebody turns it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class Clock:
    def __init__(self, start: datetime | None = None) -> None:
        self.now = start or datetime(2026, 1, 1, tzinfo=UTC)

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def turn_to(self, instant: datetime) -> None:
        """Forward only: time that has passed stays passed."""
        self.now = max(self.now, instant)

    def stamp(self) -> str:
        """The time as objects carry it: whole seconds, UTC."""
        return self.now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
